"""Judges what drivers have received, by the gateway's log of notifications."""

from dataclasses import dataclass, field

# The age in seconds from which a confirmation must survive a kill, and from which the gateway has read a pong.
KEPT, READ = 1.0, 0.25


class Violation(Exception):
    """A notification was lost, out of order, or repeated although it was confirmed."""


@dataclass
class Session:
    """What a driver got in one subscription to one channel. Times are of the monotonic clock."""

    driver: str
    channel: str  # the plain name
    process: int  # the number of the gateway's process
    begun: float
    # Whether it is the rest of a session of which the first part was judged before.
    continues: bool = False
    received: list[str] = field(default_factory=list)
    # When the driver sent a pong, and the id of the last notification before its ping.
    pongs: list[tuple[float, str]] = field(default_factory=list)
    # How the driver ended the connection: "closed" if the gateway answered the close frame, so that it
    # had read all pongs, or "aborted"; "" if the gateway ended it.
    end: str = ""


@dataclass(frozen=True)
class Ended:
    """When a process was killed, or told to stop."""

    at: float
    is_kill: bool


@dataclass
class Progress:
    """How far a driver has come with a channel, as sequence numbers."""

    complete: int = 0  # everything up to this number has arrived
    confirmed: int = 0  # the store must have the confirmation, whatever happens to the process
    ponged: int = 0  # the last for which the driver sent a pong
    # Pongs that may be lost with the process: the session, the time, the sequence number.
    doubtful: list[tuple[Session, float, int]] = field(default_factory=list)


class Judge:
    """Follows all drivers over all processes of a gateway."""

    def __init__(self):
        self.sequences: dict[str, int] = {}
        self.ends: dict[int, Ended] = {}
        self.progress: dict[tuple[str, str], Progress] = {}
        self.deliveries = self.repeated = 0
        # The ages of the oldest pongs that a stop (False) and a kill (True) lost.
        self.oldest_lost = {False: 0.0, True: 0.0}

    def judge(self, sessions: list[Session], last: dict[str, int]) -> None:
        """Judges the sessions since the last call. Each driver must have everything up to the last
        sequence number of the channel.
        """
        by_key: dict[tuple[str, str], list[Session]] = {}
        for session in sessions:
            by_key.setdefault((session.driver, session.channel), []).append(session)
        for key, each in by_key.items():
            progress = self.progress.setdefault(key, Progress())
            arrived: set[int] = set()
            for session in sorted(each, key=lambda session: session.begun):
                arrived |= self._judge(session, progress)
            end = last.get(key[1], 0)
            if missing := [number for number in range(progress.complete + 1, end + 1) if number not in arrived]:
                raise Violation(f"{key} never got {len(missing)} notifications: {missing[:5]}")
            progress.complete = end

    def _judge(self, session: Session, progress: Progress) -> set[int]:
        """Returns the sequence numbers that arrived."""
        where = f"{session.driver} on {session.channel} of process {session.process}"
        if unknown := [each for each in session.received if each not in self.sequences]:
            raise Violation(f"{where} got notifications that are not in the log: {unknown[:5]}")
        numbers = [self.sequences[each] for each in session.received]
        confirmed, evidence = self._confirmed(session, progress)
        if numbers:
            first = numbers[0]
            if numbers != list(range(first, first + len(numbers))):
                raise Violation(f"{where} got gaps or disorder: {numbers[:50]}")
            if session.continues:
                if first != progress.complete + 1:
                    raise Violation(f"{where} continues with {first} behind {progress.complete}")
            else:
                if first <= confirmed:
                    raise Violation(f"{where} repeats {first} although {confirmed} was confirmed {evidence}")
                if first > progress.ponged + 1:
                    raise Violation(f"{where} begins with {first}; the driver confirmed {progress.ponged}")
                self._count_lost(session, progress, first)
            self.deliveries += len(numbers)
        for at, each in session.pongs:
            number = self.sequences[each]
            progress.ponged = max(progress.ponged, number)
            progress.doubtful.append((session, at, number))
        return set(numbers)

    def _confirmed(self, new: Session, progress: Progress) -> tuple[int, str]:
        """Returns the sequence number up to which a new session must repeat nothing, and why."""
        confirmed, evidence = progress.confirmed, "in an earlier process"
        for session, at, number in progress.doubtful:
            if number > confirmed and self._is_certain(session, at, new):
                confirmed = number
                before = min(new.begun, self.ends[session.process].at if session.process != new.process else new.begun)
                evidence = (f"by a pong {before - at:.3f} s before it or the end of its process, in process {session.process}, on a connection "
                            f"that was {session.end or 'ended by the gateway'}")
                # What is certain while a process lives may be lost with it.
                if session.process != new.process:
                    progress.confirmed = number
        return confirmed, evidence

    def _is_certain(self, session: Session, at: float, new: Session) -> bool:
        if session.process == new.process:
            return session.end == "closed" or at <= new.begun - KEPT
        ended = self.ends[session.process]
        return at <= ended.at - (KEPT if ended.is_kill or session.end == "aborted" else READ)

    def _count_lost(self, session: Session, progress: Progress, first: int) -> None:
        for earlier, at, number in progress.doubtful:
            if number >= first and earlier.process != session.process:
                ended = self.ends[earlier.process]
                self.repeated += 1
                self.oldest_lost[ended.is_kill] = max(self.oldest_lost[ended.is_kill], ended.at - at)
        progress.doubtful = [each for each in progress.doubtful if each[0].process == session.process]
