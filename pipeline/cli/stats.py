"""The command `stats`: compares the steps that seeds aimed at with the steps that their pairs take."""

from pipeline.cli import console, options
from pipeline.run import read
from pipeline.run.locate import run_folder


def stats(run: options.Run, out: options.Out = None, json: options.Json = False) -> None:
    """Compare the steps that the seeds of a run aimed at with the measured steps, and suggest aims that fit."""
    from pipeline.analysis.aims import find_unreached, fit_aims
    from pipeline.analysis.figures import figures
    from pipeline.run import publish

    folder = run_folder(run, out)
    config = read(folder).config
    records = publish.RunRecords(folder, config)
    targets = figures(records.seeds(), publish.outside(folder)).targets
    low, high = config.steps
    fitting, missing = fit_aims(targets, range(low, high + 1)), find_unreached(targets, range(low, high + 1))
    setting = f"difficulty.aims={{{','.join(f'{aim}={weight}' for aim, weight in fitting.items())}}}"
    if json:
        tree = {"targets": [target.model_dump(mode="json") for target in targets], "unreached": missing}
        console.json({"run": str(folder), **tree, "aims": {str(aim): weight for aim, weight in fitting.items()}})
        return
    rows = [
        (
            target.steps,
            target.planned,
            target.accepted,
            target.below_target,
            ", ".join(f"{count.name}: {count.count}" for count in target.difficulty),
        )
        for target in targets
    ]
    console.show(console.table("aim", "seeds", "accepted", "too easy", "measured steps: seeds", rows=rows))
    if missing:
        console.message(f"no seed gave {' or '.join(map(str, missing))} steps: this corpus may not allow them")
    if fitting:
        console.show(console.text(f"aims that fit  --set '{setting}'"))
