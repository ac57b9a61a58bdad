"""The promises of the product about failures, and the tests that attack each one. `make chaos` runs them all.

F are faults, S are attacks. A test is a file, or a function of one. Where a function has cases marked `chaos`, those
are the full size, and the others are for the quick suite alone.
"""

from typing import NamedTuple


class Promise(NamedTuple):
    id: str
    text: str
    tests: tuple[str, ...]


def _promise(id: str, text: str, *tests: str) -> Promise:  # noqa: A002 - that is what it is
    return Promise(id, text, tuple(f"tests/{test}" for test in tests))


PROMISES = (
    _promise(
        "F1",
        "After `kill -9` at any moment: each seed once, no half file, only calls in flight paid twice, the same bytes",
        "chaos/test_kill.py::test_kills_at_random_moments",
    ),
    _promise(
        "F2",
        "The same after `kill -9` before, after or during any write to the disk, also if the command was a resumed one",
        "chaos/test_kill.py::test_kills_at_every_change_of_the_disk",
        "store/test_files.py::test_a_kill_leaves_the_old_or_new_files_and_the_sweep_removes_the_rest",
        "retrieval/test_index.py::test_a_kill_while_building_costs_only_the_build",
    ),
    _promise(
        "F3",
        "If a journal is torn at any byte, only the torn seeds are run again",
        "store/test_journal.py::test_a_tear_at_any_byte_costs_only_the_torn_lines",
        "store/test_journal.py::test_a_tear_inside_the_history_costs_only_that_line",
    ),
    _promise(
        "F4",
        "A flipped byte of journal, cache or index is detected, never read as a value, and reported before an export",
        "cli/test_export.py::test_a_damaged_journal_is_exported_only_with_permission",
        "store/test_journal.py::test_every_flipped_bit_is_detected",
        "store/test_cache.py::test_flipped_bits_give_a_miss_or_an_error_but_never_another_answer",
        "retrieval/test_index.py::test_a_flipped_byte_is_detected",
    ),
    _promise(
        "F5",
        "A cache that is cut, garbage or foreign gives a miss, or an error in one line that names the file",
        "store/test_cache.py::test_garbage_is_refused_in_one_line_that_names_the_file",
        "store/test_cache.py::test_a_foreign_database_is_left_as_it_is",
        "store/test_cache.py::test_a_truncated_file_gives_a_miss_or_an_error",
    ),
    _promise(
        "F6",
        "A disk that gets full or disappears stops the run in one line; the run continues when the disk is back",
        "chaos/test_disk.py",
        "chaos/test_shared_disk.py",
        "store/test_cache.py::test_a_full_disk_is_an_error_in_one_line",
        "exports/test_shards.py::test_a_full_disk_is_reported_and_leaves_nothing",
        "retrieval/test_index.py::test_a_full_disk_is_one_line_and_leaves_nothing",
    ),
    _promise(
        "F7",
        "If a third of all answers are broken, no record changes and no seed fails",
        "chaos/test_endpoint.py::test_a_hundred_pairs_survive_mixed_faults",
        "chaos/test_endpoint.py::test_broken_answers_change_no_record",
        "chaos/test_endpoints.py::test_a_dying_and_a_busy_endpoint_change_no_byte",
        "chaos/test_endpoint.py::test_an_unanswered_request_does_not_block_its_run",
    ),
    _promise(
        "F8",
        "A short outage pauses the run, a long one stops it, and nothing is lost",
        "chaos/test_endpoint.py::test_an_outage_pauses_the_run_and_drops_nothing",
        "chaos/test_endpoint.py::test_a_lasting_outage_stops_the_run_which_can_be_resumed",
    ),
    _promise(
        "F9",
        "`Retry-After` is respected up to a minute, whatever value it has",
        "llm/test_retry.py::test_retry_after_is_honoured_within_a_minute",
    ),
    _promise(
        "F10",
        "An error that waiting cannot fix (401, 404, an unknown model) stops the run at once, in one line",
        "llm/test_openai.py::test_errors_that_waiting_cannot_mend_stop_at_once_with_one_line",
        "llm/test_retry.py::test_a_fatal_failure_stops_at_once",
    ),
    _promise(
        "F11",
        "Ctrl-C, SIGTERM and a second Ctrl-C end a run within five seconds; its journal is whole, no process is left",
        "chaos/test_signals.py",
        "cli/test_process.py::test_a_signal_before_anything_has_begun_shows_no_traceback",
    ),
    _promise("F12", "A wall clock that jumps by a day changes no byte and delays nothing", "chaos/test_clock.py"),
    _promise(
        "F13",
        "Concurrency, hash seed, locale and the order of completion change no byte",
        "cli/test_locale.py::test_the_locale_changes_no_byte",
        "chaos/test_same_bytes.py",
        "run/test_coordinator.py::test_concurrency_and_order_of_completion_change_nothing",
        "exports/test_data_set.py::test_a_journal_gives_the_same_bytes_whatever_finished_first",
        "exports/test_data_set.py::test_another_hash_seed_gives_the_same_bytes",
    ),
    _promise(
        "F14",
        "If several commands start on one run at once, one proceeds and the others are refused at once",
        "chaos/test_together.py",
        "cli/test_process.py::test_a_second_process_is_refused_before_it_reads_the_corpus",
        "store/test_lock.py",
    ),
    _promise(
        "F15",
        "A run refuses to continue with another configuration, prompt, model or corpus, and names the change",
        "run/test_resume.py",
    ),
    _promise(
        "F16",
        "A killed Prefect flow ends its server, can be resumed, and gives the same bytes as a run without Prefect",
        "chaos/test_flow.py",
        "flow/test_deployments.py::test_a_schedule_fires_and_the_night_after_a_kill_finishes",
        "cli/test_process.py::test_no_flow_never_imports_prefect",
    ),
    _promise(
        "F17",
        "If a retrieval server dies with its JVM, the run waits for it, and no seed fails",
        "chaos/test_retriever.py",
        "corpus/test_jvm_death.py",
        "corpus/test_jvm.py::test_an_error_of_any_kind_becomes_a_retrieval_error_of_one_line",
    ),
    _promise(
        "F18",
        "A budget of tokens or money is exceeded by at most the calls in flight; a higher one continues the run",
        "chaos/test_endpoint.py::test_a_budget_stops_within_the_calls_in_flight_and_a_higher_one_resumes",
    ),
    _promise(
        "F19", "Memory stays under 1.5 GiB at any size; what is too large is left out and counted", "chaos/test_size.py"
    ),
    _promise(
        "F20",
        "A replay of a recorded run gives the frozen bytes; a change of its requests is noticed",
        "golden/test_recorded.py",
        "golden/test_outcomes.py",
    ),
    _promise(
        "F21",
        "A killed worker, or one with a full disk, costs the calls that it could not store; a slow one costs no batch",
        "chaos/test_workers.py::test_a_killed_worker_changes_nothing",
        "chaos/test_workers.py::test_a_slow_worker_changes_nothing",
        "chaos/test_workers.py::test_a_full_disk_of_one_worker_loses_nothing",
        "run/test_batches.py::test_batches_make_the_records_of_one_process",
        "run/test_batches.py::test_a_worker_reuses_the_answers_of_a_killed_one",
    ),
    _promise(
        "F22",
        "If command, scheduler, endpoint or all are killed or signalled, none is left, and the next command continues",
        "chaos/test_workers.py::test_a_command_killed_with_its_workers_resumes",
        "chaos/test_workers.py::test_signals_to_all_processes_of_a_job_end_it_cleanly",
        "chaos/test_workers.py::test_a_killed_scheduler_ends_the_run_which_resumes",
        "chaos/test_workers.py::test_workers_wait_for_a_killed_endpoint",
        "run/test_batches.py::test_a_resumed_run_reuses_the_answers_of_killed_workers",
    ),
    _promise(
        "F23",
        "A worker with other code or another corpus is refused in one line; limits and budgets hold over all workers",
        "run/test_batches.py::test_other_code_or_another_corpus_is_refused_in_one_line_that_names_both",
        "run/test_batches.py::test_a_budget_holds_over_all_workers",
        "run/test_batches.py::test_calls_in_flight_stay_within_the_limit_of_one_process",
    ),
    _promise(
        "S1",
        "No output of a model causes an exception, however malformed, deep or large",
        "agents/test_mutations.py",
        "llm/test_reply.py",
    ),
    _promise(
        "S2",
        "Unknown tools, wrong arguments and too many calls go back to the model as errors",
        "agents/test_agent.py::test_a_bad_call_is_sent_back_to_the_model",
        "agents/test_agent.py::test_calls_over_the_limit_of_a_turn_are_refused",
        "agents/test_agent.py::test_calls_get_unique_ids",
    ),
    _promise(
        "S3",
        "A model that never stops is stopped, with a reason",
        "agents/test_bad_models.py",
        "agents/test_agent.py::test_an_endless_searcher_runs_out_of_turns",
        "agents/test_agent.py::test_too_many_tokens_end_the_conversation",
    ),
    _promise(
        "S4",
        "Instructions in documents affect nothing but the answer of a model that obeys them",
        "chaos/test_injection.py",
    ),
    _promise(
        "S5",
        "Text of corpus or model is never used as a template, and closes no fence",
        "contract/test_prompts.py",
        "test_prompts.py",
    ),
    _promise(
        "S6",
        "The key is in no file and no message, even if the server repeats it",
        "chaos/test_endpoint_process.py::test_the_key_is_in_no_file_and_no_message",
        "chaos/test_endpoint_process.py::test_a_key_echoed_in_errors_is_never_shown",
        "chaos/test_endpoint_process.py::test_a_key_echoed_in_answers_is_never_published",
        "llm/test_hostile_endpoint.py::test_a_key_that_an_answer_repeats_is_replaced",
        "llm/test_hostile_endpoint.py::test_an_answer_with_a_disguised_key_is_dropped",
    ),
    _promise(
        "S7",
        "No name in a corpus leads out of its folder, and neither does a link",
        "corpus/test_manifest.py::test_hostile_names_never_become_a_name",
        "corpus/readers/test_folder.py::test_a_link_out_of_the_folder_is_not_followed",
    ),
    _promise(
        "S8",
        "A compression bomb in a corpus or an answer is refused, with little memory",
        "llm/test_hostile_endpoint.py::test_a_compressed_answer_is_unpacked_only_as_far_as_it_is_read",
        "llm/test_hostile_endpoint.py::test_an_endless_answer_is_read_up_to_its_limit",
        "corpus/readers/test_jsonl.py::test_a_bomb_is_refused_at_once_and_in_little_memory",
        "corpus/readers/test_parquet.py",
    ),
    _promise(
        "S9",
        "A malformed corpus gives rows whose counts add up, or an error in one line",
        "corpus/readers/test_folder.py::test_a_loop_of_links_and_a_pipe_are_bad_rows",
        "corpus/readers/test_jsonl.py::test_damage_gives_rows_or_one_line_and_never_a_traceback",
        "corpus/test_loading.py::test_any_lines_give_consistent_counts_or_a_one_line_error",
    ),
    _promise(
        "S10",
        "No text adds an element, a handler or a link to the report",
        "exports/report/test_page.py::test_hostile_text_stays_text",
        "exports/report/test_page.py::test_no_known_markup_attack_adds_an_element_or_a_handler",
    ),
    _promise(
        "S11",
        "No text changes the card's front matter or structure, and no cell of a review is a formula",
        "exports/card/test_card.py::test_hostile_text_changes_no_structure",
        "exports/card/test_card.py::test_front_matter_keeps_any_text",
        "analysis/test_human_marks.py::test_no_text_becomes_a_formula_or_another_row",
    ),
    _promise("S12", "No text acts on the terminal", "text/test_redact.py"),
    _promise(
        "S13",
        "A server listens only on the loopback, or needs a token; large requests do not block other clients",
        "serve/test_http_server.py",
        "serve/test_connections.py",
    ),
    _promise("S14", "Nothing that was read is executed: no pickle, no eval, no shell", "rules/test_source.py"),
    _promise(
        "S15",
        "A whole run connects only to the configured endpoint",
        "chaos/test_endpoint_process.py::test_only_the_configured_endpoint_is_contacted",
    ),
    _promise(
        "S16",
        "Patterns take linear time on hostile text",
        "llm/test_no_calls.py::test_a_hostile_megabyte_is_read_in_linear_time",
        "reward/test_reward.py::test_100_kilobytes_of_hostile_text_are_scored_quickly",
        "corpus/test_cutting.py::test_hostile_text_is_cut_in_linear_time",
    ),
    _promise("S17", "All packages are locked by hash, and a stale lock is refused", "test_packaging.py"),
    _promise("S18", "Questions of public benchmarks are dropped", "gates/test_contaminated.py"),
)
