"""The judge of `make crash` finds each kind of fault."""

import pytest

from harness.crowd.judge import Ended, Judge, Session, Violation

KILL, STOP = Ended(10.0, is_kill=True), Ended(10.0, is_kill=False)


def session(process: int, *received: str, pong: tuple[float, str] | None = None, begun: float = 0.0, end: str = "",
            continues: bool = False) -> Session:
    return Session("c1", "driver-c1", process, begun, continues, list(received), [pong] if pong else [], end)


def judged(*sessions: Session, ended: Ended = KILL, last: int = 3) -> Judge:
    """Judges sessions of one driver. The log has the notifications "1", "2" and "3"."""
    judge = Judge()
    judge.sequences = {str(number): number for number in range(1, 4)}
    judge.ends = {0: ended}
    judge.judge(list(sessions), {"driver-c1": last})
    return judge


def test_replay_behind_the_last_confirmation_is_right():
    judge = judged(session(0, "1", "2", pong=(5.0, "1")), session(1, "2", "3", begun=11))
    assert (judge.deliveries, judge.repeated) == (4, 0)


@pytest.mark.parametrize("received, fault", [
    (["1", "2"], "never got 1"), (["1", "3"], "gaps or disorder"), (["2", "1", "3"], "gaps or disorder"),
    (["1", "2", "2", "3"], "gaps or disorder"), (["1", "2", "3", "4"], "not in the log"), (["2", "3"], "begins with 2"),
])
def test_fault_on_one_connection(received, fault):
    with pytest.raises(Violation, match=fault):
        judged(session(0, *received))


def test_what_was_written_but_not_confirmed_must_come_again():
    judged(session(0, "1", "2"), session(1, "1", "2", "3", begun=11))
    with pytest.raises(Violation, match="begins with 3; the driver confirmed 0"):
        judged(session(0, "1", "2"), session(1, "3", begun=11))


@pytest.mark.parametrize("ended, sent, is_kept", [(KILL, 8.9, True), (KILL, 9.1, False), (STOP, 9.7, True), (STOP, 9.9, False)])
def test_confirmation_before_the_end_of_a_process(ended, sent, is_kept):
    sessions = (session(0, "1", pong=(sent, "1")), session(1, "1", "2", "3", begun=11))
    if is_kept:
        with pytest.raises(Violation, match="repeats 1 although 1 was confirmed"):
            judged(*sessions, ended=ended)
    else:
        judge = judged(*sessions, ended=ended)
        assert judge.repeated == 1 and judge.oldest_lost[ended.is_kill] == pytest.approx(10 - sent)


@pytest.mark.parametrize("end, sent, is_kept", [("closed", 4.9, True), ("aborted", 4.9, False), ("aborted", 3.9, True)])
def test_confirmation_before_a_new_connection_to_the_same_process(end, sent, is_kept):
    sessions = (session(0, "1", pong=(sent, "1"), end=end), session(0, "1", "2", "3", begun=5))
    if is_kept:
        with pytest.raises(Violation, match="repeats 1"):
            judged(*sessions)
    else:
        judged(*sessions)


def test_kill_may_lose_what_was_certain_while_the_process_lived():
    judged(session(0, "1", pong=(9.5, "1"), end="closed"), session(0, begun=9.6), session(1, "1", "2", "3", begun=11))


def test_continued_session_has_no_gap():
    judge = judged(session(0, "1"), last=1)
    judge.judge([session(0, "2", "3", continues=True)], {"driver-c1": 3})
    judge = judged(session(0, "1"), last=1)
    with pytest.raises(Violation, match="continues with 3 behind 1"):
        judge.judge([session(0, "3", continues=True)], {"driver-c1": 3})
