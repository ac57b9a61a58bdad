#!/bin/sh
# GRPO with verl's tool-agent loop on the view rl_verl_tool. Usage: train.sh DATASET MODEL
# Beforehand, elsewhere: digsite serve RUN. Start it in the folder that holds recipes/.
set -eu
files() { printf '[%s]' "$(echo "$@" | tr ' ' ',')"; }
train="$(files "$1"/rl_verl_tool/train-*.parquet)"
val="$(files "$1"/rl_verl_tool/eval-*.parquet)" validation=""
if ! ls "$1"/rl_verl_tool/eval-*.parquet >/dev/null 2>&1; then
  # verl wants a file all the same: the training rows stand in, and nothing is done with them.
  echo "train.sh: $1/rl_verl_tool has no row to validate with; training without" >&2
  val="$train" validation="trainer.val_before_train=false trainer.test_freq=-1"
fi
# The tools of the data set's environment.json, in a file that every worker can read.
tools="${TOOLS:-tools.json}"
python recipes/verl/write_tools.py "$1" >"$tools"
exec python -m verl.trainer.main_ppo \
  algorithm.adv_estimator=grpo \
  data.train_files="$train" \
  data.val_files="$val" \
  data.return_raw_chat=true \
  data.max_prompt_length=2048 \
  data.max_response_length=16384 \
  data.filter_overlong_prompts=true \
  actor_rollout_ref.model.path="$2" \
  actor_rollout_ref.rollout.name=vllm \
  actor_rollout_ref.rollout.mode=async \
  actor_rollout_ref.rollout.n=8 \
  actor_rollout_ref.rollout.multi_turn.enable=true \
  actor_rollout_ref.rollout.multi_turn.format=hermes \
  actor_rollout_ref.rollout.multi_turn.max_assistant_turns=16 \
  actor_rollout_ref.rollout.multi_turn.max_parallel_calls=8 \
  actor_rollout_ref.rollout.multi_turn.max_tool_response_length=20000 \
  actor_rollout_ref.rollout.multi_turn.tool_config_path="$tools" \
  actor_rollout_ref.rollout.agent.agent_loop_config_path=recipes/verl/agent_loop.yaml \
  actor_rollout_ref.actor.loss_agg_mode=token-mean \
  actor_rollout_ref.actor.use_kl_loss=true \
  actor_rollout_ref.actor.kl_loss_coef=0.001 \
  actor_rollout_ref.actor.clip_ratio_low=0.2 \
  actor_rollout_ref.actor.clip_ratio_high=0.28 \
  reward.custom_reward_function.path="$1/code/reward.py" \
  reward.custom_reward_function.name=compute_score \
  $validation
