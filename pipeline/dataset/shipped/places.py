"""Is "Walton, Liverpool" the place "Walton"? Only where what follows the comma is known to hold places: a list of two
names is no place with its region, and a well-known place lies in its own region alone, so Paris in Texas is not Paris.
What is not in the table may lie in any region; nothing is won by that, since the first name has to be the right one.
"""

import unicodedata
from collections.abc import Callable
from itertools import pairwise

# A region and its other names, then places in it.
_ROWS = """
africa: algeria, angola, benin, botswana, burkina faso, burundi, cameroon, chad, congo, djibouti, egypt, eritrea, gabon
africa: ethiopia, gambia, ghana, guinea, kenya, lesotho, liberia, libya, madagascar, malawi, mali, mauritius, morocco
africa: mozambique, namibia, niger, nigeria, rwanda, senegal, sierra leone, somalia, south africa, sudan, tanzania, togo
africa: tunisia, uganda, zambia, zimbabwe
asia: afghanistan, bangladesh, bhutan, cambodia, china, india, indonesia, iran, iraq, israel, japan, jordan, kazakhstan
asia: kuwait, kyrgyzstan, laos, lebanon, malaysia, maldives, mongolia, myanmar, nepal, north korea, oman, pakistan
asia: palestine, qatar, philippines, saudi arabia, singapore, south korea, sri lanka, syria, taiwan, tajikistan
asia: thailand, turkmenistan, united arab emirates, uzbekistan, vietnam, yemen
europe: albania, andorra, austria, belarus, belgium, bosnia and herzegovina, bulgaria, croatia, cyprus, czech republic
europe: denmark, estonia, finland, france, germany, greece, hungary, iceland, ireland, italy, kosovo, latvia, lithuania
europe: liechtenstein, luxembourg, malta, moldova, monaco, montenegro, netherlands, north macedonia, norway, poland
europe: portugal, romania, san marino, serbia, slovakia, slovenia, spain, sweden, switzerland, turkey, ukraine, russia
europe: united kingdom, vatican city, armenia, azerbaijan
north america: canada, mexico, united states, cuba, jamaica, haiti, bahamas, barbados, costa rica, panama, guatemala
north america: honduras, nicaragua, el salvador, belize, dominican republic, trinidad and tobago, greenland
south america: argentina, bolivia, brazil, chile, colombia, ecuador, guyana, paraguay, peru, suriname, uruguay
south america: venezuela
oceania: australia, fiji, new zealand, papua new guinea, samoa, tonga, vanuatu
united kingdom, uk, great britain, britain: england, scotland, wales, northern ireland
england: london, liverpool, manchester, birmingham, leeds, sheffield, bristol, newcastle, nottingham, leicester, oxford
england: cambridge, york, southampton, portsmouth, plymouth, brighton, norwich, coventry, hull, bradford, derby, bath
england: merseyside, lancashire, yorkshire, north yorkshire, west yorkshire, south yorkshire, greater manchester, kent
england: surrey, sussex, east sussex, west sussex, essex, suffolk, norfolk, cambridgeshire, oxfordshire, cornwall, devon
england: dorset, somerset, hampshire, wiltshire, gloucestershire, herefordshire, worcestershire, warwickshire, cumbria
england: staffordshire, cheshire, derbyshire, nottinghamshire, leicestershire, lincolnshire, northamptonshire, rutland
england: bedfordshire, hertfordshire, buckinghamshire, berkshire, county durham, northumberland, isle of wight
england: shropshire, tyne and wear, west midlands, greater london, middlesex
merseyside: liverpool
scotland: glasgow, edinburgh, aberdeen, dundee, inverness, fife, highland, orkney, shetland, perth
wales: cardiff, swansea, gwynedd, powys, dyfed, gwent, glamorgan, pembrokeshire
northern ireland: belfast, county antrim, county armagh, county down, county fermanagh, county tyrone
ireland: dublin, cork, galway, limerick, county cork, county kerry, county galway, county mayo, munster, leinster
france: paris, lyon, marseille, toulouse, bordeaux, nantes, strasbourg, brittany, normandy, provence, alsace, corsica
germany: berlin, hamburg, munich, cologne, frankfurt, stuttgart, dresden, leipzig, bavaria, saxony, hesse, thuringia
germany: north rhine westphalia, lower saxony, brandenburg, baden wurttemberg, rhineland palatinate, schleswig holstein
italy: rome, milan, naples, turin, florence, venice, genoa, bologna, tuscany, lombardy, sicily, sardinia, veneto, lazio
spain: madrid, barcelona, seville, valencia, bilbao, catalonia, andalusia, galicia, basque country, castile and leon
portugal: lisbon, porto
netherlands, holland: amsterdam, rotterdam, hague, utrecht, north holland, south holland, gelderland, limburg
belgium: brussels, antwerp, ghent, bruges, flanders, wallonia
switzerland: zurich, geneva, basel, bern, lausanne
austria: vienna, salzburg, graz, innsbruck, tyrol, styria, carinthia
poland: warsaw, krakow, gdansk, wroclaw, poznan, lodz, silesia
czech republic, czechia: prague, brno, bohemia, moravia
russia: moscow, saint petersburg, siberia
ukraine: kyiv, kiev, odessa, lviv, crimea
sweden: stockholm, gothenburg, malmo
norway: oslo, bergen
denmark: copenhagen, aarhus
finland: helsinki
greece: athens, thessaloniki, crete
hungary: budapest
turkey: istanbul, ankara, izmir, anatolia
egypt: cairo, alexandria
south africa: johannesburg, cape town, durban, pretoria, gauteng, western cape, eastern cape, kwazulu natal
nigeria: lagos
kenya: nairobi
china: beijing, shanghai, hong kong, guangzhou, shenzhen, guangdong, sichuan, hunan, hubei, yunnan, fujian, zhejiang
india: mumbai, delhi, new delhi, kolkata, chennai, bangalore, hyderabad, kerala, tamil nadu, karnataka, maharashtra
india: gujarat, rajasthan, punjab, west bengal, bihar, uttar pradesh, madhya pradesh, andhra pradesh, goa, assam
japan: tokyo, osaka, kyoto, nagoya, hiroshima, hokkaido, kyushu, okinawa
south korea, korea: seoul, busan
canada: toronto, montreal, vancouver, ottawa, ontario, quebec, british columbia, alberta, manitoba, saskatchewan
canada: nova scotia, new brunswick, newfoundland and labrador, newfoundland, prince edward island, yukon
australia: sydney, melbourne, brisbane, adelaide, canberra, new south wales, victoria, queensland, western australia
australia: south australia, tasmania, northern territory
new zealand: auckland, wellington, christchurch, north island, south island, otago, canterbury
mexico: mexico city, guadalajara, jalisco, oaxaca, yucatan
brazil: rio de janeiro, sao paulo, brasilia, bahia, minas gerais
argentina: buenos aires, patagonia
united states, usa, us, united states of america, america: new england, puerto rico, washington dc, dc, los angeles
united states: chicago, philadelphia, boston, san francisco, seattle, detroit, dallas, houston, new york city, atlanta
united states: baltimore, miami, denver, new orleans, pittsburgh, cleveland, milwaukee, brooklyn, manhattan, hollywood
georgia, ga: tbilisi, atlanta
new york, ny, new york state: new york city, brooklyn, manhattan, queens, bronx, buffalo, long island
california, ca: los angeles, san francisco, san diego, hollywood, oakland, sacramento
massachusetts, ma: boston
illinois, il: chicago
pennsylvania, pa: philadelphia, pittsburgh
texas, tx: dallas, houston, austin, san antonio
"""
_STATES = (
    "alabama al alaska ak arizona az arkansas ar colorado co connecticut ct delaware de florida fl hawaii hi idaho id "
    "indiana in iowa ia kansas ks kentucky ky louisiana la maine me maryland md michigan mi minnesota mn mississippi "
    "ms missouri mo montana mt nebraska ne nevada nv new-hampshire nh new-jersey nj new-mexico nm north-carolina nc "
    "north-dakota nd ohio oh oklahoma ok oregon or rhode-island ri south-carolina sc south-dakota sd tennessee tn "
    "utah ut vermont vt virginia va west-virginia wv wisconsin wi wyoming wy"
).split()
_NAME: dict[str, str] = {}  # any name of a region or place to the first
_WITHIN: dict[str, set[str]] = {}
for _row in [
    *_ROWS.strip().split("\n"),
    *(f"{state.replace('-', ' ')}, {code}: " for state, code in zip(_STATES[::2], _STATES[1::2], strict=True)),
    "united states: california, texas, massachusetts, illinois, pennsylvania, new york, "
    + ", ".join(_STATES[::2]).replace("-", " "),
]:
    _names, _, _places = _row.partition(": ")
    _first, *_others = _names.split(", ")
    _NAME |= dict.fromkeys([_first, *_others], _first)
    for _place in filter(None, _places.split(", ")):
        _NAME.setdefault(_place, _place)
        _WITHIN.setdefault(_place, set()).add(_first)


def same_place(one: str, other: str, forms: Callable[[str], set[str]]) -> bool:
    """Is one of the texts the other with the regions that it lies in? `forms` gives the normal forms of a text."""
    shorter, longer = sorted((_parts(one), _parts(other)), key=len)
    if not len(shorter) < len(longer) <= 4 or any(c.isdigit() for c in longer[0]):
        return False
    if not forms(shorter[0]) & forms(longer[0]) or not all(
        any(forms(s) & forms(r) for r in longer[1:]) for s in shorter[1:]
    ):
        return False
    names = [_known(part, forms) for part in longer]
    return all(names[1:]) and all(_may_lie_in(a, b) for a, b in pairwise(names))


def _parts(text: str) -> list[str]:
    """Walton, Liverpool; Walton (Liverpool)."""
    text = unicodedata.normalize("NFKC", text[:200]).strip()
    if text.endswith(")"):
        text = text[:-1].replace("(", ",", 1)
    return [part.strip() for part in text.split(",")]


def _known(part: str, forms: Callable[[str], set[str]]) -> str:
    """The first name of a place that is known, else nothing. Two letters are a state's only in capitals."""
    if len(part) < 3 and not part.isupper():
        return ""
    return next((_NAME[form] for form in sorted(forms(part)) if form in _NAME), "")


def _may_lie_in(place: str, region: str) -> bool:
    """Unless the place is known to lie elsewhere."""
    reached, new = {place}, {place}
    while new:
        new = {region for place in new for region in _WITHIN.get(place, ())} - reached
        reached |= new
    return place not in _NAME or (region in reached and region != place)
