"""The solver among tables: what a row's label says is asked about, what follows its colon answers."""

import pytest

from pipeline.agents.solver import attempt, solver
from pipeline.config import build
from pipeline.embedded.model import EmbeddedModel
from tests.shelf import Shelf, passage

TALE = "Background: Velia broke away from Numidia in 1903. The country joined the League in 1920."
STATE = """Capital > name: Vessby
National holiday: Harvest Day, 3 May (1903)
Executive branch > chief of state: President Ada HOLM (since 2 June 2020)
Executive branch > head of government: Prime Minister Max ORR (since 3 June 2021)
Independence: 7 April 1903 (from Numidia)"""
PEOPLE = """Birth rate: 15.05 births/1,000 population (2025 est.)
Death rate: 7.4 deaths/1,000 population (2025 est.)
Urbanization > urban population: 41.3% of total population (2023)
Languages > Languages: Velian (official), Numidian
Coastline: 340 km"""
LAND = """Elevation > highest point: Mount Brandt 2,190 m
Elevation > lowest point: Tarn River 12 m
Exchange rates > Currency: crowns (VLC) per US dollar -"""
SHELF = Shelf(
    passage("tale", "Velia (Introduction)", TALE),
    passage("state", "Velia (Government)", STATE),
    passage("people", "Velia (People)", PEOPLE),
    passage("land", "Velia (Geography)", LAND),
    passage("other", "Numidia (People)", "Birth rate: 9.9 births/1,000 population\nCoastline: 998 km\nMedian age: 40"),
    passage("else", "Numidia (Government)", "Capital > name: Oslo\nNational holiday: Sea Day, 9 June"),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the capital of Velia?", "Vessby"),
        ("What is the national holiday of Velia?", "Harvest Day"),
        ("Who is the president of Velia?", "Ada HOLM"),
        ("What is the birth rate of Velia?", "15.05"),
        ("What is the birth rate of Numidia?", "9.9"),
        ("What is the highest point of Velia?", "Mount Brandt"),
        ("When did Velia gain its independence?", "7 April 1903"),
        ("What is stated under “Urbanization > urban population” for Velia?", "41.3"),
        ("What figure stands under 'Urbanization > urban population' for Velia?", "41.3"),
        ("What is stated under “Coastline” for Numidia?", "998"),
        ("What number is stated under “Birth rate” for the country that broke away from Numidia in 1903?", "15.05"),
        ("What is the capital of the country that broke away from Numidia in 1903?", "Vessby"),
    ],
)
async def test_a_row_is_read_by_its_label(question: str, answer: str) -> None:
    settings = build(values={"retrieval": {"k": 4}, "models": {"default": {"sampling": {"temperature": 0.0}}}})
    assert (await attempt(solver(settings, EmbeddedModel(), SHELF), question, 0)).answer == answer
