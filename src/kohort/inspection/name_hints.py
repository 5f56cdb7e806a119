"""What a column name suggests about the column, in several languages. These are only hints; inspect gives them as reasons."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

Meaning = str


class Hint(NamedTuple):
    """The role and the meaning that a column name suggests."""

    role: str
    meaning: Meaning

    @property
    def described(self) -> str:
        """The meaning as the end of the sentence `Column name suggests ...`."""
        return _DESCRIBED.get(self.meaning, self.meaning)


NAMES, PERSON, SOMEBODY_ELSE, OFFICIAL = "a person's name", "a person", "somebody else", "an official number"
_IDENTIFIERS: dict[Meaning, str] = {
    NAMES: (
        "name firstname lastname surname forename givenname familyname fullname middlename maiden nachname vorname nom "
        "prenom nombre apellido cognome naam username nickname"
    ),
    PERSON: (
        "versicherter mitarbeiter schuler mieter fahrer suspect victim pupil tenant driver alias eleve assure salarie "
        "locataire paciente alumno alumna paziente dipendente intestatario nominativo patient pat person customer client "
        "member employee student subject participant respondent donor user owner kunde mitglied"
    ),
    SOMEBODY_ELSE: (  # a person other than the person of the row
        "sachbearbeiter lehrer zeuge witness officer teacher nurse surgeon manager guardian husband wife medecin nextofkin "
        "contact doctor physician hausarzt arzt mother father"
    ),
    "an address": (
        "anschrift str tel addr addr1 msisdn courriel portable correo direccion movil cellulare domicilio hausnr "
        "hausnummer twitter email mail phone telephone telefon mobile handy cellphone fax address adresse street strasse "
        "rue calle indirizzo"
    ),
    OFFICIAL: (
        "cartacredito tarjetacredito account acct kto konto card kreditkarte karte carta tarjeta iban rib compte cuenta "
        "conto policy polizza poliza matricule matricola nir dni nif curp cedula nss codicefiscale piva tessera targa "
        "plate vin imsi mac login immatriculation passeport ausweis dossier expediente akte ssn passport socialsecurity "
        "nationalid taxid steuernummer versichertennummer versicherungsnummer insurancenumber licenseplate license "
        "licence accountnumber cardnumber mrn medicalrecord nhs ipaddress deviceid imei fingerprint"
    ),
}
_IDS = "id ids key uuid guid nbr number nummer nr no num identifier pseudonym"
_QUASI: dict[Meaning, str] = {
    "age": "age alter edad eta leeftijd ageyears",
    "sex": "genere genero genre civilite anrede sex gender geschlecht sexe sexo sesso geslacht",
    "birth": ("jahrgang yob birth birthdate birthday dob born geburt geburtsdatum geburtsjahr naissance nacimiento nascita"),
    "origin": (
        "pays pais paese etnia raza ethnie nacionalidad nazionalita langue lingua idioma race ethnic ethnicity origin "
        "nationalit herkunft citizen citizenship staatsangehorigkeit country native foreign foreigner migrant migration "
        "language sprache tribe caste"
    ),
    "place": (
        "kreis landkreis land citta ville ciudad commune comune provincia quartier barrio zip zipcode postal postcode "
        "postcodes plz postleitzahl cap cp city town village municipality gemeinde county region province district state "
        "place ort stadt stadtteil bundesland kanton canton location residence resident wohnort neighborhood "
        "neighbourhood area lat lon latitude longitude geo"
    ),
    "family": (
        "estadocivil statocivile etatcivil hijos figli enfants marital maritalstatus civilstatus familienstand "
        "relationship relation spouse married partner children kids child kinder household householdsize siblings family "
        "parents"
    ),
    "education": (
        "ecole escuela scuola education educational school schooling degree university diploma bildung abschluss literacy"
    ),
    "work": (
        "profesion metier lavoro abteilung occupation job profession beruf employment employed employer workclass work "
        "worker working industry sector branche position title company military"
    ),
    "housing": "housing house home wohnung dwelling tenure car vehicle",
    "care": (
        "admission admitted discharge disposition hospital hospitaltime stay lengthofstay los ward station department "
        "clinic specialty speciality provider payer insurance insurer visit encounter arrival referral"
    ),
    "time": "fecha data date datum day month year jahr time timestamp when",
    "looks": "height bodyheight eyecolor haircolor size grosse",
}
_SENSITIVE: dict[Meaning, str] = {
    "health": (
        "disease illness diagnosis diagnoses diagnose diag icd condition symptom comorbidity treatment therapy therapie "
        "medication medications medicine drug drugs prescription procedure procedures surgery operation hiv aids cancer "
        "test result results lab labs blood glucose cholesterol pressure bmi weight readmitted readmission mortality "
        "death died survival disability behinderung beeintrachtigung gewicht raucher ops pregnancy pregnant contraception "
        "contraceptive method smoker smoking alcohol mental vaccine vaccination allergy krankheit befund maladie "
        "enfermedad malattia"
    ),
    "money": (
        "income salary wage wages earnings earning pay amount balance credit credits debt debtor debtors loan savings "
        "checking deposit property wealth asset assets tax cost costs charge charges expense expenses price capital gain "
        "loss revenue rent installment gehalt lohn einkommen betrag kosten salaire revenu ingreso stipendio reddito"
    ),
    "belief": ("religion religious belief faith confession konfession politics political party vote union orientation sexuality"),
    "law": "crime offence offense conviction arrest sentence verdict",
    "outcome": "class target label outcome risk score rating grade grades marks performance churn default",
}
_HINTS: list[tuple[str, Hint]] = [
    (word, Hint(role, meaning))
    for role, groups in (("identifier", _IDENTIFIERS), ("quasi", _QUASI), ("sensitive", _SENSITIVE))
    for meaning, words in groups.items()
    for word in words.split()
]
_DESCRIBED: dict[Meaning, str] = {
    SOMEBODY_ELSE: "another person, such as a doctor",
    "an address": "an address or phone number",
    OFFICIAL: "an official number or an account number",
    "age": "an age",
    "sex": "sex or gender",
    "birth": "a date of birth",
    "origin": "an origin, nationality or language",
    "place": "a place",
    "family": "a family or household",
    "education": "an education",
    "work": "a job or employer",
    "housing": "a home or vehicle",
    "care": "a hospital stay, visit or insurer",
    "time": "a date or time",
    "looks": "a height or another visible feature",
    "health": "health data",
    "money": "an amount of money",
    "belief": "a belief or orientation",
    "law": "a crime or court decision",
    "outcome": "a result or score",
}
LONG = 5  # words of at least this many letters are also found inside longer words


def hint(name: str) -> Hint | None:
    """Return what a column name suggests; None if nothing. The last known word decides: in `family_income` it is `income`.

    >>> hint("native-country").meaning, hint("Weducation").meaning, hint("time_in_hospital").meaning, hint("fnlwgt")
    ('origin', 'education', 'care', None)
    """
    words = words_of(name)
    joined = "".join(words)
    found: list[tuple[int, int, bool, Hint]] = []
    for word, meant in _HINTS:
        if len(word) >= LONG and word in joined:
            end = joined.rindex(word) + len(word)
        elif word in words:
            end = sum(map(len, words[: len(words) - words[::-1].index(word)]))
        else:
            continue
        found.append((end, len(word), meant.role == "sensitive", meant))
    return max(found, key=lambda match: match[:3])[3] if found else None


def says_id(name: str) -> bool:
    """Whether the last word of a name means an identifying number, as in `patient_id`; `number_of_visits` is a count."""
    words = [word for word in words_of(name) if not word.isdigit()]
    return bool(words) and words[-1] in _IDS.split()


def ends_like_id(name: str) -> bool:
    """Whether a name ends like an identifying number or a name: UTILITYID, utilname."""
    return "".join(words_of(name)).endswith(
        ("id", "nr", "no", "nbr", "num", "name", "key", "nummer", "number", "numero", "zeichen", "code", "token")
    )


def says_code(name: str) -> bool:
    """Whether a name suggests that the numbers in the column are codes, not amounts."""
    return bool(set(words_of(name)) & {*_IDS.split(), "code", "type", "category", "class", "kind", "group", "status"})


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case without accents: `birthDate_1` gives birth, date, 1."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", plain)
    return re.findall(r"[a-z]+|\d+", split.lower())
