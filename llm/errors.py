"""The reasons why a call of the Anthropic API gave no answer, as data: callers put them in words.

an HTTP status from 400 on, or an error in the stream   ->  by status and type, `fault_of`
nothing is heard for too long                           ->  "timeout"
no connection, or it broke                              ->  "unreachable"
anything else that answers                              ->  "malformed": it is not the Anthropic API
"""

from __future__ import annotations

from typing import Literal

from contract.errors import MootError

ApiFault = Literal[
    "refused",  # 400: the request, in the form that it has
    "too_long",  # the conversation does not fit into the model's context
    "payment",  # the account has no credit left
    "key",
    "forbidden",  # the key may not use this model
    "unknown_model",
    "limit",  # of the rate
    "overloaded",
    "failed",  # any other HTTP status
    "timeout",
    "unreachable",
    "malformed",  # what came is no answer of the API
]

_STATUS: dict[int, ApiFault] = {
    400: "refused",
    401: "key",
    402: "payment",
    403: "forbidden",
    404: "unknown_model",
    413: "too_long",
    429: "limit",
    529: "overloaded",
}
TOO_LONG = "prompt is too long"  # there is no code for it
NO_CREDIT = "credit balance"  # nor for this one, where the status is 400
PASSING = (408, 409, 425, 429)  # and everything from 500; Anthropic's SDK repeats these, too
PASSING_TYPES = ("api_error", "overloaded_error", "rate_limit_error", "timeout_error")


class ApiError(MootError):
    """A call that failed. Its message has nothing of the conversation.

    words: the API's own sentence, "" for none; it may quote the conversation. retry_after_s: as
    the API says, 0 when it does not. broken: it failed in mid-answer, and may succeed if repeated.
    """

    def __init__(
        self,
        fault: ApiFault,
        message: str,
        *,
        status: int | None = None,
        words: str = "",
        retry_after_s: int = 0,
        broken: bool = False,
    ) -> None:
        super().__init__(message)
        self.fault: ApiFault = fault
        self.status = status
        self.words = words
        self.retry_after_s = retry_after_s
        self.broken = broken

    @property
    def passing(self) -> bool:
        """True when the same call may succeed later."""
        if self.status is not None:
            return self.status in PASSING or self.status >= 500
        return self.fault in ("timeout", "unreachable")


def fault_of(status: int, kind: str, words: str) -> ApiFault:
    """The fault of an HTTP error. kind: its type; words: the API's own sentence, in lower case."""
    if status == 400 and TOO_LONG in words:
        return "too_long"
    if NO_CREDIT in words:
        return "payment"
    if status < 400:  # an error within a stream that began well
        return "limit" if kind == "rate_limit_error" else "failed"
    return _STATUS.get(status, "failed")
