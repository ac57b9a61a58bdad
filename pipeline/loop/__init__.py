"""The loop that turns one seed into a record: propose, audit, try, assess, revise, measure."""
