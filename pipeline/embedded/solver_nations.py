"""Countries and their adjectives: the solver needs them to tell a nationality and to compare two."""

from functools import lru_cache

from pipeline.text import words

_TABLE = """
Afghanistan:Afghan|Albania:Albanian|Algeria:Algerian|Andorra:Andorran|Angola:Angolan|Argentina:Argentine,Argentinian
Armenia:Armenian|Australia:Australian|Austria:Austrian|Azerbaijan:Azerbaijani,Azeri|Bahamas:Bahamian|Bahrain:Bahraini
Bangladesh:Bangladeshi|Barbados:Barbadian|Belarus:Belarusian,Belarussian|Belgium:Belgian|Belize:Belizean
Benin:Beninese|Bhutan:Bhutanese|Bolivia:Bolivian|Bosnia and Herzegovina:Bosnian,Bosnia|Botswana:Botswanan
Brazil:Brazilian|Bulgaria:Bulgarian|Burkina Faso:Burkinabe|Burundi:Burundian|Cambodia:Cambodian|Cameroon:Cameroonian
Canada:Canadian|Chad:Chadian|Chile:Chilean|China:Chinese,PRC|Colombia:Colombian|Congo:Congolese|Costa Rica:Costa Rican
Croatia:Croatian,Croat|Cuba:Cuban|Cyprus:Cypriot|Czech Republic:Czech,Czechia
Czechoslovakia:Czechoslovak,Czechoslovakian|Denmark:Danish,Dane|Dominican Republic:Dominican|East Germany:East German
Ecuador:Ecuadorian|Egypt:Egyptian|El Salvador:Salvadoran|England:English|Eritrea:Eritrean|Estonia:Estonian
Ethiopia:Ethiopian|Fiji:Fijian|Finland:Finnish,Finn|France:French|Gabon:Gabonese|Georgia:Georgian
Germany:German,West Germany,West German|Ghana:Ghanaian|Greece:Greek,Hellenic|Guatemala:Guatemalan|Guinea:Guinean
Guyana:Guyanese|Haiti:Haitian|Honduras:Honduran|Hong Kong:Hongkonger|Hungary:Hungarian|Iceland:Icelandic|India:Indian
Indonesia:Indonesian|Iran:Iranian,Persian,Persia|Iraq:Iraqi|Ireland:Irish|Israel:Israeli|Italy:Italian
Ivory Coast:Ivorian|Jamaica:Jamaican|Japan:Japanese|Jordan:Jordanian|Kazakhstan:Kazakh,Kazakhstani|Kenya:Kenyan
Kosovo:Kosovar|Kuwait:Kuwaiti|Kyrgyzstan:Kyrgyz|Laos:Laotian|Latvia:Latvian|Lebanon:Lebanese|Liberia:Liberian
Libya:Libyan|Liechtenstein:Liechtensteiner|Lithuania:Lithuanian|Luxembourg:Luxembourgish,Luxembourgian
Macedonia:Macedonian,North Macedonia|Madagascar:Malagasy|Malawi:Malawian|Malaysia:Malaysian|Maldives:Maldivian
Mali:Malian|Malta:Maltese|Mauritius:Mauritian|Mexico:Mexican|Moldova:Moldovan|Monaco:Monegasque|Mongolia:Mongolian
Montenegro:Montenegrin|Morocco:Moroccan|Mozambique:Mozambican|Myanmar:Burmese,Burma|Namibia:Namibian
Nepal:Nepali,Nepalese|Netherlands:Dutch,The Netherlands|New Zealand:New Zealander|Nicaragua:Nicaraguan|Niger:Nigerien
Nigeria:Nigerian|North Korea:North Korean|Norway:Norwegian|Oman:Omani|Pakistan:Pakistani|Palestine:Palestinian
Panama:Panamanian|Papua New Guinea:Papuan|Paraguay:Paraguayan|Peru:Peruvian|Philippines:Filipino,Philippine,Filipina
Poland:Polish|Portugal:Portuguese|Puerto Rico:Puerto Rican|Qatar:Qatari|Romania:Romanian|Russia:Russian,Russian Empire
Rwanda:Rwandan|Samoa:Samoan|Saudi Arabia:Saudi,Saudi Arabian|Scotland:Scottish|Senegal:Senegalese|Serbia:Serbian,Serb
Sierra Leone:Sierra Leonean|Singapore:Singaporean|Slovakia:Slovak,Slovakian|Slovenia:Slovenian,Slovene|Somalia:Somali
South Africa:South African|South Korea:South Korean,Korean,Korea|Soviet Union:Soviet,USSR|Spain:Spanish
Sri Lanka:Sri Lankan,Ceylon|Sudan:Sudanese|Suriname:Surinamese|Sweden:Swedish,Swede|Switzerland:Swiss|Syria:Syrian
Taiwan:Taiwanese|Tajikistan:Tajik|Tanzania:Tanzanian|Thailand:Thai|Togo:Togolese|Trinidad and Tobago:Trinidadian
Tunisia:Tunisian|Turkey:Turkish,Turk,Ottoman|Turkmenistan:Turkmen|Uganda:Ugandan|Ukraine:Ukrainian
United Arab Emirates:Emirati,UAE|United Kingdom:British,UK,Great Britain,Britain,U.K.
United States:American,USA,U.S.,US,United States of America,America,U.S.A.|Uruguay:Uruguayan|Uzbekistan:Uzbek
Vatican City:Vatican|Venezuela:Venezuelan|Vietnam:Vietnamese|Wales:Welsh|Yemen:Yemeni|Yugoslavia:Yugoslav,Yugoslavian
Zambia:Zambian|Zimbabwe:Zimbabwean|Antigua and Barbuda:Antiguan|Brunei:Bruneian|Cabo Verde:Cape Verde,Cape Verdean
Central African Republic:|Comoros:Comoran|Cote d'Ivoire:Côte d'Ivoire|Djibouti:Djiboutian|Dominica:|East Timor:Timorese
Equatorial Guinea:Equatoguinean|Eswatini:Swaziland,Swazi|The Gambia:Gambia,Gambian|Grenada:Grenadian
Guinea-Bissau:|Kiribati:|Lesotho:|Marshall Islands:Marshallese|Mauritania:Mauritanian|Micronesia:Micronesian
Nauru:Nauruan|Palau:Palauan|Saint Lucia:|San Marino:Sammarinese|Sao Tome and Principe:|Seychelles:Seychellois
Solomon Islands:|South Sudan:South Sudanese|Timor-Leste:|Tonga:Tongan|Tuvalu:Tuvaluan|Vanuatu:Ni-Vanuatu
"""
_STATES = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Hawaii|Idaho|Illinois|"
    "Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|"
    "Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|"
    "Oklahoma|Oregon|Pennsylvania|Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|"
    "Washington|West Virginia|Wisconsin|Wyoming"
).split("|")
_CONTINENTS = "Africa|Antarctica|Asia|Europe|North America|South America|Oceania|Australia".split("|")

_FORMS = {
    form: country
    for entry in _TABLE.replace("\n", "|").split("|")
    if entry
    for country, forms in [entry.split(":")]
    for form in (country, *filter(None, forms.split(",")))
}
_BY_WORDS = {" ".join(words(form)): country for form, country in _FORMS.items()}
_STATE_WORDS = {" ".join(words(state)): state for state in _STATES}
CONTINENTS = frozenset(_CONTINENTS)


@lru_cache(maxsize=65536)
def country(name: str) -> str:
    """The country of a country's name or adjective; empty for any other text."""
    return _BY_WORDS.get(" ".join(words(name.removeprefix("the ").removeprefix("The "))), "")


def us_state(name: str) -> str:
    return _STATE_WORDS.get(" ".join(words(name)), "")


def is_adjective(form: str) -> bool:
    """Is this form of a country the adjective ("French"), not the name?"""
    return bool(country(form)) and form not in (country(form), "The Netherlands", "USA", "UK", "America", "Britain")


@lru_cache(maxsize=4096)
def nations(text: str) -> tuple[tuple[str, str, int], ...]:
    """Countries that a text names or uses as adjective: (country, form, word index), left to right, longest first."""
    tokens = text.split()
    plain = [" ".join(words(token)) for token in tokens]
    found, index = [], 0
    while index < len(tokens):
        capital = tokens[index].lstrip("(\"'")[:1].isupper()
        sizes = (n for n in (3, 2, 1) if capital and " ".join(plain[index : index + n]) in _BY_WORDS)
        size = next(sizes, 0)
        if size:
            form = " ".join(tokens[index : index + size]).strip("(),.;:\"'")
            found.append((_BY_WORDS[" ".join(plain[index : index + size])], form, index))
        index += max(1, size)
    return tuple(found)
