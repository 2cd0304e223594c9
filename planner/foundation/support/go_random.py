"""The random numbers of Go's math/rand, for reproducing values that Go programs generate."""

from __future__ import annotations

import struct
from base64 import b64decode
from functools import cache

_LENGTH, _TAP, _LARGEST = 607, 273, (1 << 31) - 1
_WORD = (1 << 64) - 1


@cache
def _cooked() -> tuple[int, ...]:
    return struct.unpack(f"<{_LENGTH}Q", b64decode(COOKED))


class GoRandom:
    """The generator `rand.New(rand.NewSource(seed))` of Go."""

    def __init__(self, seed: int) -> None:
        x = seed % _LARGEST or 89482311
        for _ in range(20):
            x = 48271 * x % _LARGEST
        state = []
        for cooked in _cooked():
            word = 0
            for shift in (40, 20, 0):
                x = 48271 * x % _LARGEST
                word ^= x << shift
            state.append((word ^ cooked) & _WORD)
        self._state = state
        self._tap, self._feed = 0, _LENGTH - _TAP

    def _int31(self) -> int:
        self._tap = (self._tap - 1) % _LENGTH
        self._feed = (self._feed - 1) % _LENGTH
        result = (self._state[self._feed] + self._state[self._tap]) & _WORD
        self._state[self._feed] = result
        return (result >> 32) & _LARGEST

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1 (Go's Intn). `limit` is 1 to 2**31 - 1."""
        if limit & (limit - 1) == 0:
            return self._int31() & (limit - 1)
        last = _LARGEST - (1 << 31) % limit
        while (item := self._int31()) > last:
            pass
        return item % limit


# The initial state of Go's math/rand, from Go's standard library: 607 numbers of 64 bits in Base64.


COOKED = (
    "6v+Y6zNK98VbX5a6QUp7wA+vgcsTxV4T65VDp1z7BEqOzxB3HIPop8PBN4/o5F19qYX/Q3fPIWNh+Z9qVQbLQtLX6EDRyCZuoPoRNB9Rp0lVUKYi"
    "SXftcVwt6l/Gn1ydaEMBSjmrvT8LNJJpWTP6cAJqps5O+xCuitG8i6m8n/esgKMuscz3lxsr88qU15EBryzjJDQyaj8rFAEfksxCxmiA80+fhiKh"
    "IDmvJxGjsaWWncK9+aQHW4YlgSk8lypq4VJ699szpGqeyYo7biGUg3yZW1HFqYDbaffL8+/ywwMMIf/uMeS1pvVTKZk0U8gO6dEQ3zIUai5JsdFZ"
    "mWLkvVF5OHY4TJlnY66bVWHUFQ53oNLpxJa/vfMg2mqGYk+wv5fbRhbakCF6lTIYPIdxUEuQ2hk6UDs+KIXH8qWI4zN36NAZrAvHvnLwG/hwaSUA"
    "hqhP9hSK0fdMc9S0ePlupI6nJzFX8S94puub1QobJAAvW+kfWUnF2jktTIjy+pVhXTTvsL0rnFYe4oxQOWCLC7vSNVRwdhXv99jx9QqQXh031H99"
    "GC2QHnnr4I98eyJ/mLvrAWIOeThx4SJ5rI6BREDT2lDF1lgGmpZyzJS4v4S9KbPjQVGFp0bnurFWFbOcSW9o+QSQoDxph1B+bRRQDHDJWpP/2DXN"
    "2FQVqrQYmN6g2jNk/X7zTVbgsgWt6ZH1KT742wvrZxfymVJTknIkuOtMXlqXRea6K8M7XBV46uxu6KxXU14pTgi7rU+aapCLyWNE9moIUP381hn9"
    "rIUDrZ860eGl1Oa7nAObtzOfCfw1WgyEJCJ42c8a1UW8OE4XPk7eVJ8v+FMO77OHCvoN4WmXQ3vs2QnqEVBMzMfDnlHV4xPED5lHC+Jbzs9+4Ac/"
    "viIZt7jQ0qVhx3zIH+oeRd3W8ffeXlDIBekcAI7Xbvu6aPRENgrM19ApRC7bMcIU0z2UkJrNHOLRwo8o9WlIZrWPFk5gb8Xd9vqxsKvkUUEnuafO"
    "6EeW7N5hvn0YQqd2PA54SUCNd4AT5GzCRkRxkgtw5xnAW0dlF23YYB14CA7gcfXV6Q8Pn1duiDO/Ym5H5rROUv8McYylmTiepVboJJoYg1eLfJ9U"
    "FAACBpxTCJhnVFGy7ln8uBSmmYSL/4/zIlI9OucrpvU4SEwrg4KLUN74L2jHnxD1DD/FXPGtHNMmWGtACQVywfqWvBBScQDp+5PTNjX+BAdK+67M"
    "bptcxhlAvpIwx6+L6ol415m18AebWPq4SQreGPAPg8lxThcv3YVnooC3cLS+YrEjYbemICKDxc0kve+RIyazJlC3e/vQBB+arxw90CHprrwJ+fCl"
    "C44cne18qkb5tmJ6nqfY/BQ/6LwFz8Q6xDegCKB5xUXQEnlSjohTQBd7nyiyoI/42r0CIF2v+1GER8oSqAPkilCknzI3on4NCPK2Ar8EP8sz7TmK"
    "PmSWxxlkW9ee15L9rOhYssghaCEx6UZ7/zo96Wort/yMhbA2ZxH/5588Xq6lwhw5lcP0KnZ2628H/cTmc+ftMfu171Cu/NtZMyR/bdsPDjRA55Nx"
    "kt3GpHMf9Y9mqRz6bktTlEEN1yBFcmrAkgUSGb0WzTDc1iwMWGtFje8phGoNvGJcXjnpuKlOdEjhroRcghTvGDTicTq3Mh5KwChSxCdv7g+h5NLg"
    "Oy5ORghg4YL0Z7sjJ3Mk6EG1EQ/Xryp9DPl9rho5LBSW9OFUdEL6JfYOQB0Tns4QZpYGmdrMwdc0WUUiIJLatzlCQeZWVSf2kZCftL2KKGQ9a5GC"
    "oG8Gx6HQUp+h8Iz7bGYqZIOtY7AdmJ2MSn62WGGi32PfwuzrNv48zv9kU6Ur6+S20Rd3DZ4X0m/bRyI2t6JxuTvFENUlz+XbYVJzc60oD5OL638E"
    "Ad2VWlq0WHNAsa0wgxBMeHZHtH8GVAfr9OggG9nAx7ZAXyfcJw97pt34LXOFyITErzcmtjH2i4NJhslhWH8nMO4fBt9VFKwtBSLTlemueOSGBNN6"
    "RdHOSh8iZzK4ZjUsBQeYR7mgfqdQUwKo05wW/MJ+GkIApylRsDonV/JDn3H79+S6SL+46FfYWxxZ83FpGJTV2hRwQpytilE/GIKOzLjDQ0y335Jv"
    "VrofmKzANVTFqqwHj7zLOBCIsF9zur5sVbVD8tSf5zswnxRjdSRxH0PeqvZLwsu2V6XSTHLeacF1abwhNIF2DPSM98qfFRJKYt088T4NORsE0HPV"
    "BuitO9mL6mnyYc14Pa+LV8mdaH86qRgzNVK+vRxQpy0AErGbjERtW7Qx8mbKZmUD5De34ulRnrjPaJscVIdGcMk3KV2jKN8otbBEaXWy/oucTiPC"
    "Q0HCKY8GAo1Pef30feUV32jwkAUJwI2rrZit5AaklIGCsVVBP3T/1CcwRs5FCOxoESMG0znDwIZJmAGuWg6YVjaYYcwaBT2vErK0tnrhbHBK8apw"
    "QDrelcnLRzVfVujp2bgCYjSs2x0Y6kmKQc5TKLm8p1M6b6FGJROqomIoyUtjZsHWcaCTvM5q/5JR6mypgDJAeiRaZoGPOxhaZOTA0oBMKyKmOrpY"
    "TT2ehWPlL8uJg6K55P4SlbgMooO9DLNhsJHWywmfrPP4ujmIuMTR7bMD310J7YLLxJQm9mDTm4e5A8bQV2ZCgPfaWIWrMp5iG9t/yOEvhhbVOHnX"
    "AOxZJ5ZWOuPZkEsXL8gbBYZc0srrXTur2zWb3dBrdqiHFMqDtiZfQlP2dqBAKzxdNNb4corpZHRBeE7qPt0CL3d4UkLof5dAYh0rktQa8Psp6k6L"
    "KpyVygI4UxChfMpp2XskV2NJNmsysqdcZAd8f3tn4wqlP8a42Ec5cHT9t6B54IzcoLEfI3duybdCM7YWJ4Dm1wmpOc3d7MoZW2gnFE23kY7SbJyc"
    "VDoNDnn7wZERthu4vdNnfhHi9okN/JbTIutJsPusfkXVTWX1m5fhHcooXVinbENdedkYMobi19NFFp3PPL6nL7DMnnvhp7cfgsIp2c4fKysNMWRe"
    "N5Ba2L19IhEWajPLzXD4uvUlaWNecYRLJdDgQ0eSIXd1xQ4Icdn7WA/kXhfhvK1bNsx4PZUykIN2oJWEUztqOdPAiY+miNiIHKibY4GnXHecja8/"
    "kyidUT8NxOrEfd/H2DH+AdvWfTgDgG0DlwoiaPchBowHJwh6zKjWWWB1RvgqV+oqw/n9yTYBkRzihRMR/t0+x9+Ho6aiue15+/bF3HrRVtXHoyhr"
    "+Qkn92rOjULwaS1VFsKSmr60u5xdHPTK9q43T5ip180QEUPTyh3Ms+UdfDzZq15ipxGDBCweqAy0HORe/L8d5WhbOEP/ovnUcB9q01zLsCe5zOrK"
    "5BDgY0Gu3T/gHsmoUlR/DssMl1hUMWF+dUwFEAscgosIBoT5Ec9ExE1rL2CntzYlf/kmodWGFzOT23KDcM2pydpRJFQHWufXBJFlKA2h5aSv5rj4"
    "y+skkCMl84AzfBMIX0JeqRgRozIeK4BAYQtkvV8cK/HQPH6Wp7m6f+iJEANBCD66s/sb8WvTHA2tw387w1m3aNn0sr8C0gVJVnWETIP6NmIqC6jg"
    "4zqDGme4pYaN5Y/rKIhgeRfnIVefyysD3hZ+3OUk0hKV1OBRgovmKaMIywh1SsArJZ0ySKY1+IWoGeyX95knTRDt8nbArTpEF2fkd+J9NYlsnTy2"
    "rgd5rzVb2wTga84n2PFb2SgCv5tjs+Ele+ExriW5fZWeQukjJWh+PKtfDpUzWZ+/cTbqKiwQMjlD79Kywch/xx7Sfg1HYo70gBJf6kKuEfPNR7cX"
    "joP6qQ4GAeCE/MxbjFCnrGP5BD+EoKqjpdPr6KT3Sfls30H93muHInye5gdPciTBtKZaPfINR7+4kPWZIDWYKT1llVj0kMwR0fgoq6ENVQPbNBsr"
    "XMxCeACErJQ2m7cILG75hAvVcr+Q9Qjr+HlwlHIIBYIht2xpp9U2rMlbiNThl/55tYi4bP3kBFIQgpRiATe5Fgh57zxWZRO+JnqnvSio3RQTho/7"
    "z1uuA7i3oghAMTLQHqnI0z7sZ7igAQCH5d2TsPnB9uR4gwu87GsIjsf8b8CXUXWe+ATyNO4FZyRMJhbVgnWSxzwTRnWke+Gz4rSqXBsRP6NeJUMU"
    "Fo49opyB0ESzKPFITSCrOfsi0WyqNo8jvxApXLqbX+AQrK6QyirkD7C2VJ3LzQ96OGSP6Ak2RwFfIFrELci4to7taMesI/1DDZIl8mR5gYparb0l"
    "q1oBue+cvH49c+qkj+cePKQieXXRhQ7jIf6B4MU9EmFmTmd5EMGG3Pu5Grk/lxiJKoxtylXu1AC1tRVSbUcA1Spt6uKzaFD8hcsj3RCpXSBbd582"
    "EV6bl9fqZX10csgr553BKqqDupbVa6DTEIcloudDkxbZ+7wCc2JrJJnN7ogCAzwtGzBLI7/sMQldCWE8mETkU+Lq+8EQiNI5btX4m3AnhXUyXgLv"
    "bbKlxjvYgTtrp1hz8ToOdDd4IQxhkQRauntw6U7ANLIkwxLPgXTW6N8U3hIHqME9BeRlYgXNRpYj4l3+hVvtyQDKFJUw5jTAvek16qmxXKVMzxgU"
    "rF1Yg/od53q25r/GmBWElYBq3u3TCGGmdIBHjMQBJkko+/RJuKznZZoeH2xfo6PgIPLDRH4NFqyXJ0LEFSytEVrVvqmNrFLeLL69KQz7OBbQbkii"
    "WFCij90f6XtQzxghSskGbeVJtvy58hm+Aufv3dAQo21waOd/Gda0nWPrhNRt6aihFln4gv09gKJGTGTXRAoaOmKqUrWLGCUaEb0gxhirPvqZ6hDd"
    "Tk/SM2zMNmUlOW046KEr+551fmBxYGx8Pbseki9pho8Ia7qWedL+6uoqvbKsEKvz3sIMtyvbtrCEEhwrkv+9W9vE1NceJKCgkIFbP67PYH5F9nkb"
    "kR4YlIwxXKDV4zOwcaaANFWnuvtelXl117DG0PbJdydDLGb2wiEPKrybhkW8tIbCSdJuyLFm4j3FQgnojkeWBRuu5i6LYdNvd+pdPjoHCD+vcW4d"
    "0Ed4Dv6q+8SvgR/NQMl4B8ZxviQhlmoE37bCHc9sD5WTTpTQB0CjHgRnx+LGdmUgyfkbUlFecdcremuGQTZ5jDx1l3rkZUp4GazaUuv3c3wLEdMH"
    "tynEvD8na6YKVHVayC0wFt7kVgpw00DI/1vQ/ANTh9aIJeOlBu2+qzpqY/gmZYp1OCDm6Np6vgEK9MRbx760ycPBnwrOaXrcZKrbCjyFP/m21TmO"
    "ZbhIvoXLB/OIzDNSBORGZ1aM9IGSERE+Lyvn5tUzQ3tdreNuXuNEvwr46zssN5Yp+j1PMk8p04TVAAmmyBfg0weXs8838lYKCdE800NdYOXHeuH6"
    "GUStDm8QwMi+YCp7A6i7iX1VphI8mJlpUWP81Imy7CkijYgIwz5O3KdWEXyMGJIkEFr4HHgCZUdEC8Gxs11djrceqTti9r8VZZzwo7soanHxMC/J"
    "B3b0162dhzR4kASemXDblZfFEaajinUVQ8d0mjkybxFATG1T0Jeth8WaU1LDWYnydRYaHySDnmH1eG2MrffvY+XP8SodS8nlEiKdPx+2N3tGPQJ+"
    "a+nuq612q/rRYmuS2V35z3bbciGmeKI6Z8jIGeWrgpl+hfXxjRHCNIBsE0C2dnP6L96aokzQp5h+53dNsBSfbaFH7YsErT1LMTIdk+TlnkwKPfND"
    "pev0uibZc3Ogrzp5Mpqz5g+mbpjmYWNmTzQf48tJwETcvhzyA1Re66BS98QgBUF94pkbr93DuOWgQCdZl2xE+6VO/ASm569Hf1huraSEg3sTLFTe"
    "XB4wew/8Dyr0il0KMEcFgnnAfQjCOcbTtiuacKh8RgreNtq0a7tC4nYDyR5TsHlg90MY3JjPjAXBrhGwF7QXhBtk3fBP3d7sMuhJIyiHN4z76OcW"
    "iLvw1fTC2A9IULaFbQt2T3OqRX0UCNJThUJiWcTnaBmgKw5AAGD3o7kZfgcMA2Rhj1UXHZ/F5sBIMXV5Q9g77/LSd5pv4QGHjbhuZmiGKDTO53JV"
    "B9aRVLGCjetUvusap2XCdweePm/d3UdJhlV5XGP+jWKb+T/UOT5nIiL1jMdtCH5jZpx+n2bjN+446K+kR7vXkr234tvfq54f0cG18mrKTzIpG1tS"
    "UqHkWQ50dY0K0ZF82JXKfzpTfMzbsYZz9/tmEr3D0Ua6ZppoGnC1JLFx1ktNwK6eCv1DLFVl4eQXMRRYI6xIErvFWIPFCuOAvXf2qo9/8KQncpn8"
    "UOGwnF3MSKhBm+SwHnEKZHg5yh2gv/xkhMdr/y+rCphe5kKqUGdcOfTzlZZM6n8oikL2SRc2FpWUIZ+ZktV3yfhfk/bZZlHEqRxDj6ID9afsEL5R"
    "w6PTUemWKBaA4Hn1JCggWzjpteUMxrBZSh66+weyqilYZd6oLjiLx40E3uHX33rMllpTdDvwXnOboVd+xiXAMToKoDk="
)
