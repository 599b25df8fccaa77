"""Firebase users: drivers who register themselves."""

from .fleet import Caller, unique_id
from .jwks import KeyServer
from .tokens import RS256, firebase_claims

PROJECT = "fleet-test"
SIGNER = RS256()
REGISTRATION = {
    "name": "Rahul Kumar", "email": "rahul@example.com",
    "profileImage": "https://images.example/rahul.jpg", "licenseNumber": "MH1420110012345",
    "licenseImageUrl": "https://images.example/license.jpg", "licenseExpiryDate": "2099-12-31",
    "vehicleName": "Honda Activa", "vehicleNumber": "mh-12 ab 1234", "vehicleType": "SCOOTER",
    "vehicleDocuments": [{"type": "RC", "imageUrl": "https://images.example/rc.jpg"},
                         {"type": "INSURANCE", "imageUrl": "https://images.example/i.jpg",
                          "expiryDate": "2020-01-31"}]}


def key_server() -> KeyServer:
    """Serves the certificate of the project's key."""
    return KeyServer(certificates={"f1": SIGNER.certificate()})


def account_settings(server: KeyServer, jwt: dict, **firebase) -> dict:
    """Returns the sections of a gateway that keeps accounts."""
    return {"auth": {"jwt": jwt, "firebase": {
        "project_id": PROJECT, "certificates_url": f"{server.url}/certificates", "role": "driver"}
        | firebase}, "accounts": {"enabled": True}}


def unique_phone() -> str:
    return "+919" + str(int(unique_id(), 36) % 10 ** 9).zfill(9)


class FirebaseUser(Caller):
    """A Firebase user with a phone; `phone=None` makes one without."""

    def __init__(self, gateway, uid: str | None = None, phone: str | None = "", **more):
        self.phone = unique_phone() if phone == "" else phone
        self.uid = uid or unique_id("u")
        self.claims = firebase_claims(PROJECT, self.uid, phone_number=self.phone, **more)
        super().__init__(gateway, "driver", more.get("driver_id", self.uid),
                         bearer=SIGNER.token(self.claims, kid="f1"))

    def sync(self) -> dict:
        return self.expect_ok("POST", "/api/auth/sync", {})

    def register(self, **changes) -> dict:
        return self.expect_ok("POST", "/api/auth/register-driver", REGISTRATION | changes)
