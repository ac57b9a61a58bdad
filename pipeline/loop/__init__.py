"""One seed's way to a record: propose, audit, try, assess, revise, confirm."""
