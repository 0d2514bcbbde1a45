# Code generated from server/openapi.json by internal/tools/clientpython/typeddicts. DO NOT EDIT.
"""What requests and answers of the REST API have, as types: each is a plain dict when it runs."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


class PushEndpoint(TypedDict):
    # open: nothing is sent until it says that it is well; half-open: it does, and one message is tried.
    circuit: Literal["closed", "open", "half-open"]
    endpoint: str
    # In a row.
    failures: int
    # Its circuit is closed, and what it has is known.
    healthy: bool
    # Messages.
    inFlight: int


class _SchemasRequired(TypedDict):
    workflow: str


class Schemas(_SchemasRequired, total=False):
    """What JSON a version of a workflow takes and makes. What is missing is not known, and not checked."""

    # Payloads of events that the workflow says it takes, by name.
    events: Dict[str, JSONSchema]
    # Payloads of its hooks: each fits one of them.
    hooks: List[JSONSchema]
    input: JSONSchema
    output: JSONSchema
    # None: no live worker has the workflow.
    version: int


class _ProvidedRequired(TypedDict):
    # Those that are pushed to and have it.
    endpoints: List[str]
    name: str
    # How many that are alive have it.
    workers: int


class Provided(_ProvidedRequired, total=False):
    """A workflow or a registered step, and who has it."""

    schemas: Schemas
    # file:line of its function, where an endpoint says it.
    source: str
    # Of a workflow.
    version: int


class Manifest(TypedDict):
    push: List[PushEndpoint]
    # Of logs.
    specVersion: int
    steps: List[Provided]
    workflowCoreVersion: str
    workflows: List[Provided]


class Misfit(TypedDict):
    """A place that does not fit."""

    # In words.
    expected: str
    got: str
    # JSON pointer (RFC 6901) into the input or payload; empty: the whole.
    pointer: str


class _ProblemRequired(TypedDict):
    # For programs; never changes.
    code: str
    status: int
    # What the code means.
    title: str
    # A URN, as stable as code.
    type: str


class Problem(_ProblemRequired, total=False):
    """RFC 9457."""

    # What was wrong with this request.
    detail: str
    # UNFIT: the places that do not fit, at most ten.
    errors: List[Misfit]
    # What the code means and what to do: a path of this server. Not there with --ui=false, and for codes of Workflow
    # DevKit.
    help: str
    # NO_KEY: the ID of the missing key.
    key: str
    # RATE_LIMITED: which rate.
    limit: str
    # Where the server failed: find it in its log.
    request: str
    # TOO_EARLY, RATE_LIMITED: how long to wait.
    retryAfterMs: int
    # CORRUPTED_EVENT_LOG, NO_KEY: which run.
    run: str
    # CORRUPTED_EVENT_LOG: the first event that cannot be right.
    seq: int
    # TOO_EARLY: which step.
    step: str


class _WebhookAcceptedRequired(TypedDict):
    accepted: bool


class WebhookAccepted(_WebhookAcceptedRequired, total=False):
    # Why the workflow's own answer is not here.
    detail: str


class _HealthRequired(TypedDict):
    endpoint: str
    healthy: bool
    # Of logs.
    specVersion: int
    workflowCoreVersion: str


class Health(_HealthRequired, total=False):
    # The endpoints that are pushed to, of /readyz. One that is not well does not make the server so.
    push: List[PushEndpoint]


class Blob(TypedDict):
    id: str
    sha256: str
    # Bytes.
    size: int


_BlobRefNamed0 = TypedDict("_BlobRefNamed0", {"stepwell:blob": "Blob"}, total=True)


class BlobRef(_BlobRefNamed0, total=False):
    """It refers to a blob, and goes where values go: into the input, or a part of it."""



class UploadedBlob(TypedDict):
    blob: BlobRef
    # The run that it was uploaded for: start it with this ID.
    run: str


class BulkFilter(TypedDict, total=False):
    attributes: Dict[str, Any]
    # Only runs with this cause of failure: its ID in GET /v1/failures.
    cause: str
    failedSince: Moment
    # JSON that the input contains.
    input: Any
    # Only runs with this idempotency key.
    key: str
    # Only forks, restarts and retries of this run.
    origin: str
    # Only children of this run.
    parent: str
    # Only runs that recorded this patch.
    patch: str
    # Only runs whose ID begins with this.
    prefix: str
    # No children.
    roots: bool
    # An ID, an idempotency key, a workflow, an attribute as name=value, or the beginning of an ID; the first that fits
    # any run.
    search: str
    since: Moment
    status: Statuses
    # Only runs that did not record this patch.
    unpatched: str
    until: Moment
    # Only runs of this version; 0: all.
    version: int
    workflow: str


class Bulk(TypedDict, total=False):
    # All runs, where no filter is given.
    all: bool
    # Of the answer before.
    cursor: str
    # Of signal, which must have it, here or as the header Idempotency-Key: repeated, each run gets it once.
    deliveryId: str
    # Say which runs are meant, and how many; do nothing.
    dryRun: bool
    # Of signal.
    event: str
    filter: BulkFilter
    # Runs in this request; 0: as many as there is time for.
    limit: int
    # Any JSON.
    payload: Any
    # Of cancel and pause.
    reason: str
    # Of wake: end the delays before the next attempts of steps, and try blocked runs again.
    retries: bool
    # Of wake: end sleeps and timers.
    sleeps: bool
    # Of wake: begin what was to begin later. Without a status it means pending runs, too.
    starts: bool


class Refusal(TypedDict):
    code: str
    count: int
    # Why the first of them was refused.
    error: str
    # That one.
    run: str


class _BulkedRunRequired(TypedDict):
    action: str
    # The action's own word where it was done, as requested, paused, resumed, woken, created or sent; else unchanged (it
    # was so already), refused, or matched (of a dry run).
    result: str
    run: str
    workflow: str


class BulkedRun(_BulkedRunRequired, total=False):
    # Of what was refused: as in a Problem.
    code: str
    # Why it was refused.
    error: str


class _BulkedRequired(TypedDict):
    # Runs that the filter found, in this request; of lines, so far, as are the next three.
    count: int
    done: int
    # Of a dry run, those that would be.
    refused: int
    runs: List[BulkedRun]
    # They were so already.
    unchanged: int


class Bulked(_BulkedRequired, total=False):
    # There may be more than count.
    atLeast: bool
    # There may be more: send the same again, with this. None, and no error: all is done.
    cursor: str
    dryRun: bool
    # Of lines: this is the last.
    end: bool
    error: Problem
    # The same by their reason.
    refusals: List[Refusal]
    # Of a dry run: those that would be acted on.
    would: int


class _CauseRequired(TypedDict):
    count: int
    # When the oldest was created.
    first: str
    # Lists of runs and bulk operations are filtered by it.
    id: str
    # When the newest was created.
    last: str
    # Of the newest run, its first line. Of those that are tried again, the newest of a step says it.
    message: str
    # By ID, the newest first; at most 200.
    runs: List[str]
    status: Literal["failed", "blocked", "retrying"]
    workflows: List[str]


class Cause(_CauseRequired, total=False):
    code: str
    # file:line
    where: str


class Failures(TypedDict):
    blocked: int
    causes: List[Cause]
    failed: int
    # Failed runs that a retry or restart took the place of: they are not among the others.
    healed: int
    # There are more runs than were looked at.
    more: bool
    # Runs that wait for the next attempt of a step.
    retrying: int


class _HeldRequired(TypedDict):
    since: str
    workflow: str


class Held(_HeldRequired, total=False):
    """Held is a workflow whose runs do not begin."""

    by: str
    note: str


class _HookRequired(TypedDict):
    createdAt: str
    id: str
    run: str
    token: str


class Hook(_HookRequired, total=False):
    # It is over.
    ended: bool
    # After how long without a heartbeat its wait ends. It takes heartbeats if this is there.
    heartbeat: str
    # Any JSON.
    metadata: Any
    # ID of the key that the metadata is encrypted with, where the server does not have it.
    sealed: str
    # Of a webhook: where requests are sent to.
    url: str


class _OpenHookRequired(TypedDict):
    createdAt: str
    token: str


class OpenHook(_OpenHookRequired, total=False):
    # After how long without a heartbeat its wait ends. It takes heartbeats if this is there.
    heartbeat: str
    # Any JSON.
    metadata: Any
    # ID of the key that the metadata is encrypted with, where the server does not have it.
    sealed: str


class Accepted(TypedDict):
    accepted: bool


class _LimitRequired(TypedDict):
    name: str
    # Number is how many runs of a key may be at work at once. For a rate: how many begin in each period.
    number: int
    # Said is the number in the code.
    said: int


class Limit(_LimitRequired, total=False):
    """Limit is a limit as it is now."""

    # Burst is how many a rate lets begin at one moment.
    burst: int
    # receives of messages of queues count
    messages: bool
    # Per makes it a rate: its period.
    per: str
    # Refuse means that a rate refuses what is too much, and nothing waits.
    refuse: bool
    # runs count
    runs: bool
    # Set is the number that an operator has set; it replaces Said. None: nobody has.
    set: int
    # attempts of registered steps count
    steps: bool
    # UntilEnd means that a run holds its place while it waits, too.
    untilEnd: bool
    # Weights multiply the number for some keys, as the code says. A key without a weight has 1.
    weights: Dict[str, int]


class Limits(TypedDict):
    """Limits is a list of limits."""

    limits: List[Limit]


class _LimitKeyRequired(TypedDict):
    # "": the limit has no keys
    key: str
    # Used is how many places are held. For a rate: what it let in that has not begun.
    used: int
    # Waiting is how much waits: at most 10,000.
    waiting: int


class LimitKey(_LimitKeyRequired, total=False):
    """LimitKey is the state of one key of a limit."""

    # Next is when a rate lets in the next. None: now.
    next: str
    # Oldest is since when the first has waited. None: nothing waits.
    oldest: str
    # Weight multiplies the number. 0: 1.
    weight: int


class _LimitPageRequired(TypedDict):
    keys: List[LimitKey]
    name: str
    # Number is how many runs of a key may be at work at once. For a rate: how many begin in each period.
    number: int
    # Said is the number in the code.
    said: int


class LimitPage(_LimitPageRequired, total=False):
    """LimitPage is a limit with some of its keys."""

    # Burst is how many a rate lets begin at one moment.
    burst: int
    # Cursor is where the next page begins. None: this is the end.
    cursor: str
    # receives of messages of queues count
    messages: bool
    # Per makes it a rate: its period.
    per: str
    # Refuse means that a rate refuses what is too much, and nothing waits.
    refuse: bool
    # runs count
    runs: bool
    # Set is the number that an operator has set; it replaces Said. None: nobody has.
    set: int
    # attempts of registered steps count
    steps: bool
    # UntilEnd means that a run holds its place while it waits, too.
    untilEnd: bool
    # Weights multiply the number for some keys, as the code says. A key without a weight has 1.
    weights: Dict[str, int]


class SetLimit(TypedDict):
    """SetLimit changes the number of a limit."""

    # Number is the new number. 0 holds everything back. null: the number in the code applies again.
    number: Optional[int]


class _LimitHolderRequired(TypedDict):
    # Of the workflow, of the registered step, or of the queue.
    name: str


class LimitHolder(_LimitHolderRequired, total=False):
    # The ID of a message of a queue. None: it is none.
    message: str
    # None: it is a message.
    run: str
    # The ID of a step of the run, an attempt of which holds the place. None: the run itself does.
    step: str


class LimitHolders(TypedDict):
    """LimitHolders are what holds the places of a key."""

    # Holders are runs, then steps, then messages, each oldest first.
    holders: List[LimitHolder]


class _PublicationRequired(TypedDict):
    # when it was published
    at: str
    # when it goes out
    due: str
    id: str
    # Spread means that it went out.
    spread: bool
    topic: str


class Publication(_PublicationRequired, total=False):
    """Publication is what was published."""

    # Damage is why the payload cannot be read.
    damage: str
    # Error is why nobody gets it.
    error: str
    headers: Dict[str, str]
    # Payload is any JSON.
    payload: Any
    # Sealed is the ID of the key that encrypts the payload, if the server lacks that key.
    sealed: str
    source: str


class _PublicationPageRequired(TypedDict):
    publications: List[Publication]


class PublicationPage(_PublicationPageRequired, total=False):
    """PublicationPage is a page of publications."""

    # Cursor is where the next page begins. None: this is the end.
    cursor: str


class MessageCounts(TypedDict):
    """MessageCounts are the messages of a queue by state. Each count stops at 100,000."""

    dead: int
    delayed: int
    out: int
    parked: int
    ready: int


class _QueueLimitRequired(TypedDict):
    # Number is how many messages of a key may be worked on at once. For a rate: how many are received in each period.
    number: int


class QueueLimit(_QueueLimitRequired, total=False):
    """QueueLimit is a limit of a queue."""

    # Burst is how many messages a rate allows at one moment. 0: one.
    burst: int
    # Computed means that code computes the key. Only programs with the queue's definition can send to the queue.
    computed: bool
    # Name is by default the queue's. Limits with the same name are one limit, whatever queue, workflow or step has
    # them.
    name: str
    # Path is where the key is in the payload: a text, a number or a truth. A message without it is refused. None: the
    # limit has no keys.
    path: str
    # Per makes the limit a rate: its period, 1ms to 366d.
    per: str
    # Weights multiply the number for some keys. A key without a weight has 1. A rate has none.
    weights: Dict[str, int]


class QueuePause(TypedDict, total=False):
    """QueuePause means that nobody receives from a queue, and that a schedule starts no runs."""

    by: str
    reason: str
    since: str


class _MessageQueueRequired(TypedDict):
    counts: MessageCounts
    # MaxReceives is how often a message is received before it becomes a dead letter.
    maxReceives: int
    name: str
    visibility: str


class MessageQueue(_MessageQueueRequired, total=False):
    """MessageQueue is a queue, and how many messages it has."""

    limits: List[QueueLimit]
    # Oldest is since when the first ready message has waited. None: no message is ready.
    oldest: str
    paused: QueuePause


class MessageQueues(TypedDict):
    """MessageQueues is a list of queues."""

    queues: List[MessageQueue]


class DeclareQueue(TypedDict, total=False):
    """DeclareQueue creates a queue, or changes its settings."""

    # Limits apply to messages that are sent from now on. Without it the declared limits stay. An empty list ends them.
    limits: List[QueueLimit]
    # MaxReceives is how often a message is received before it becomes a dead letter. 0: 20.
    maxReceives: int
    # Visibility is how long a received message is hidden from others: 1s to 12h. Default 30s.
    visibility: str


class AckMessages(TypedDict):
    """AckMessages ends the receives of messages whose work is done."""

    receipts: List[str]


class Settled(TypedDict):
    """Settled says which receipts were valid."""

    # Old are the receipts of receives that are over: another receiver has the message since, or it is gone. They
    # changed nothing.
    old: List[str]
    # Settled is how many receipts were valid.
    settled: int


class _BuryMessagesRequired(TypedDict):
    receipts: List[str]


class BuryMessages(_BuryMessagesRequired, total=False):
    """BuryMessages makes messages dead letters."""

    # Error is for people.
    error: str


class _ExtendMessagesRequired(TypedDict):
    receipts: List[str]


class ExtendMessages(_ExtendMessagesRequired, total=False):
    """ExtendMessages keeps messages hidden from others for longer."""

    # Visibility counts from now. None: as the queue declares.
    visibility: str


class _MessageRequired(TypedDict):
    id: str
    # 1 to 4
    priority: int
    # Receives is how often it was received, this time included.
    receives: int
    sentAt: str


class Message(_MessageRequired, total=False):
    """Message is a message that was received, or is looked at."""

    # Damage is why the payload cannot be read.
    damage: str
    # Error is the last reason that a receiver gave.
    error: str
    group: str
    headers: Dict[str, str]
    # Payload is any JSON.
    payload: Any
    # Receipt is the right to settle a received message.
    receipt: str
    # Sealed is the ID of the key that encrypts the payload, if the server lacks that key.
    sealed: str
    state: MessageState
    # Until is when a received message is ready again. For one that is looked at: when it can be received.
    until: str


class _MessagePageRequired(TypedDict):
    messages: List[Message]


class MessagePage(_MessagePageRequired, total=False):
    """MessagePage is a page of messages."""

    # Cursor is where the next page begins. None: this is the end.
    cursor: str


class NewMessage(TypedDict, total=False):
    """NewMessage is a message to send."""

    # DedupeID makes a second send within DedupeWindow the same message.
    dedupeId: str
    # DedupeWindow is at most 7d. Default 5m.
    dedupeWindow: str
    # Delay is how much later it is received, at the earliest: at most 365d.
    delay: str
    # Group orders messages: those of a group are received one at a time, in the order in which they were sent. A
    # message of a group has no delay.
    group: str
    # Headers are about the message, and not in it: at most 8 KiB.
    headers: Dict[str, str]
    # Payload is any JSON, at most 1 MiB.
    payload: Any
    # Priority is 1 to 4. Messages with 4 are received first. 0: 2.
    priority: int


class SendMessages(TypedDict, total=False):
    """SendMessages is one message, or Messages without any other field."""

    # DedupeID makes a second send within DedupeWindow the same message.
    dedupeId: str
    # DedupeWindow is at most 7d. Default 5m.
    dedupeWindow: str
    # Delay is how much later it is received, at the earliest: at most 365d.
    delay: str
    # Group orders messages: those of a group are received one at a time, in the order in which they were sent. A
    # message of a group has no delay.
    group: str
    # Headers are about the message, and not in it: at most 8 KiB.
    headers: Dict[str, str]
    messages: List[NewMessage]
    # Payload is any JSON, at most 1 MiB.
    payload: Any
    # Priority is 1 to 4. Messages with 4 are received first. 0: 2.
    priority: int


class _SentMessageRequired(TypedDict):
    id: str


class SentMessage(_SentMessageRequired, total=False):
    """SentMessage is a message or a publication that is durable."""

    # Duplicate means that it was sent before, under the same ID.
    duplicate: bool


class Sent(TypedDict):
    """Sent are the messages that were sent, in the order in which they were given."""

    messages: List[SentMessage]


class _NackMessagesRequired(TypedDict):
    receipts: List[str]


class NackMessages(_NackMessagesRequired, total=False):
    """NackMessages gives messages back."""

    # Delay is how much later they are ready again. None: at once.
    delay: str
    # Error is for people.
    error: str


class PauseQueue(TypedDict, total=False):
    """PauseQueue stops all receives from a queue."""

    # Reason is for people.
    reason: str


class PurgeQueue(TypedDict, total=False):
    """PurgeQueue deletes messages. Nobody can bring them back."""

    # Dead deletes only dead letters.
    dead: bool


class QueueChanged(TypedDict):
    """QueueChanged says how many messages an operation changed."""

    messages: int
    # More means that there are others: ask again.
    more: bool


class ReceiveMessages(TypedDict, total=False):
    """ReceiveMessages receives messages that are ready."""

    # Match selects messages whose payload contains this JSON, of the first 1,000 that are ready.
    match: Any
    # Most is the most messages.
    most: int
    # Visibility is how long the messages are hidden from others: 1s to 12h. None: as the queue declares.
    visibility: str
    # Wait is how long to wait for a message if there is none: at most 30s.
    wait: str


class ReceivedMessages(TypedDict):
    """ReceivedMessages are the messages; none if none was ready."""

    messages: List[Message]


class RedriveQueue(TypedDict, total=False):
    """RedriveQueue turns dead letters back into messages that were never received."""

    # IDs are the messages. None: all dead letters.
    ids: List[str]


class Empty(TypedDict, total=False):
    pass


class _ErrorRequired(TypedDict):
    message: str


class Error(_ErrorRequired, total=False):
    causes: List[Error]
    code: str
    matches: List[str]
    # The registered name, else the Go type.
    name: str
    # Not worth another attempt.
    permanent: bool
    # Of a panic.
    stack: str
    # ID of the step whose failure it is, in the end of its run.
    step: str
    # Any JSON.
    value: Any
    # file:line
    where: str


class _GatherRequired(TypedDict):
    # It begins so long after its first input at the latest, in ns.
    most: int


class Gather(_GatherRequired, total=False):
    """The run takes inputs of further starts before it begins. With a quiet time it begins with the last, else with all."""

    # Of the starts whose inputs it takes; none: all of the workflow.
    key: str
    # Of a batch: it begins with so many inputs.
    number: int
    # It begins when no input has come for so long, in ns; none: a batch.
    quiet: int


class _LateRequired(TypedDict):
    # signal_received, hook_received, cancel_requested, run_paused, run_resumed.
    type: str


class Late(_LateRequired, total=False):
    """What was accepted for a run before its end, and had no effect."""

    arrivedAt: str
    by: str
    # The delivery ID.
    delivery: str
    # Of an event.
    name: str
    reason: str


class Heir(TypedDict):
    """The newest run in the place of one that did not complete: its retry or restart in place, or what took the place of that."""

    run: str
    status: Status


class Origin(TypedDict):
    run: str
    seq: int


class _ParentRequired(TypedDict):
    run: str
    step: str


class Parent(_ParentRequired, total=False):
    detached: bool


class _BlockRequired(TypedDict):
    code: str
    message: str
    since: str
    tries: int


class Block(_BlockRequired, total=False):
    alone: bool
    build: str
    # ID of the key that the message is encrypted with, which the server does not have; none: it is plain.
    sealed: str
    # The event where it was found.
    seq: int
    step: str


class _QueueRequired(TypedDict):
    # Deliveries in its inbox.
    mail: int


class Queue(_QueueRequired, total=False):
    """Where a run that is not over stands."""

    # Of a singleton: the run for whose end it waits.
    behind: str
    blocked: Block
    # Unread payloads are at the limit.
    full: bool
    # It has not begun, and is not to: its workflow is held.
    held: bool
    # It stands in line for a place of this limit.
    limit: str
    # And of this key. None: the limit has none.
    limitKey: str
    # Worker ID.
    owner: str
    ownerName: str
    paused: bool
    # What it waits for, short.
    waiting: str
    # Due at this time; none: only mail wakes it.
    wakeAt: str


class _AsideRequired(TypedDict):
    at: str
    # Of the event, or the hook.
    name: str
    # What does not fit.
    reason: str
    # Number of the event that brought it.
    seq: int


class Aside(_AsideRequired, total=False):
    """A payload that was set aside, as it does not fit the code that was to take it."""

    # ID of the hook, if it came to one.
    hook: str
    # Any JSON.
    payload: Any


class _AttemptErrorRequired(TypedDict):
    at: str
    attempt: int
    message: str


class AttemptError(_AttemptErrorRequired, total=False):
    code: str
    where: str


class _PlaceRequired(TypedDict):
    limit: str
    # How many places a key has.
    number: int


class Place(_PlaceRequired, total=False):
    """One of the places of a key of a limit."""

    # Of a rate: how many may begin at one moment; none: one.
    burst: int
    # None: the limit has no keys.
    key: str
    # So many begin in each period of this length, as 90s. None: so many are at work at once.
    per: str
    # Of a rate: what is beyond it is refused at its start.
    refuse: bool
    # The limit is the singleton of its workflow: what becomes of a start where a run of the key is live. None: it is no
    # singleton.
    single: Literal["keep", "replace"]
    # It is held while the run waits, too.
    untilEnd: bool


class _InLineRequired(TypedDict):
    # How many runs stand before it, at most 10,000.
    before: int
    limit: str
    # How many places a key has.
    number: int


class InLine(_InLineRequired, total=False):
    """Where a run stands in line for a place of a limit."""

    # Of a rate: when the run begins at the soonest.
    at: str
    # Of a rate: how many may begin at one moment; none: one.
    burst: int
    # None: the limit has no keys.
    key: str
    # So many begin in each period of this length, as 90s. None: so many are at work at once.
    per: str
    # Of a rate: what is beyond it is refused at its start.
    refuse: bool
    # The limit is the singleton of its workflow: what becomes of a start where a run of the key is live. None: it is no
    # singleton.
    single: Literal["keep", "replace"]
    # It is held while the run waits, too.
    untilEnd: bool


class _WhyRequired(TypedDict):
    at: str
    # In one word; the values are stable.
    kind: Literal["over", "cancelling", "paused", "blocked", "delayed", "gathers", "held", "queued", "limit", "no_worker", "working", "worker_lost", "retry", "sleep", "event", "condition", "task", "child", "run", "suspect", "hook", "stalled", "waiting"]
    run: str
    status: Status
    # For people.
    text: str
    version: int
    workers: int
    workflow: str


class Why(_WhyRequired, total=False):
    also: List[str]
    # Payloads that were set aside last, as they do not fit the code: at most 3.
    aside: List[Aside]
    attempt: int
    block: Block
    by: str
    # What a cancel would not do, for people.
    cancel: str
    deaths: int
    error: AttemptError
    event: str
    # What a fork from before the divergence, or the damage, that blocks it would do again. None: nothing that
    # completed, or it is not blocked so.
    fork: str
    # Of kind gathers: the starts whose inputs it has.
    gathers: int
    # Of kind no_worker: places of limits that it keeps from others meanwhile.
    holds: List[Place]
    id: str
    line: InLine
    # An event that may be published, too.
    listens: bool
    # Payloads of the event that earlier waits took, which nobody read.
    lost: int
    mail: int
    # Any JSON.
    match: Any
    more: int
    peer: str
    peerIs: str
    reason: str
    # What a restart would do again, for people.
    restart: str
    since: str
    # It is pending, and cancelled then unless it has begun.
    startBy: str
    step: str
    token: str
    # The step undoes another.
    undo: bool
    # And not as the run ends: its code said so, and goes on.
    undoNow: bool
    until: str
    # Of kind no_worker: the versions of the workflow that live workers have.
    versions: List[int]
    waiting: str
    worker: str


class _ListedRunRequired(TypedDict):
    # How often a worker claimed it.
    claims: int
    createdAt: str
    id: str
    # 4 is served first.
    priority: int
    status: Status
    # 0: the first taker's.
    version: int
    why: Why
    workflow: str


class ListedRun(_ListedRunRequired, total=False):
    attributes: Dict[str, Any]
    # What of its row is not what was written, and is left out here; none: nothing.
    damage: str
    # ID of the key that its payloads are encrypted with; none: they are plain.
    encryption: str
    endedAt: str
    error: Error
    # The idempotency key that it took over, with the place of the run that was started with it.
    firstKey: str
    gather: Gather
    idempotencyKey: str
    # Any JSON.
    input: Any
    # ID of the value that the input refers to, which is kept apart: GET …/values/{value}. Without it the input is the
    # value, whatever it looks like.
    inputApart: str
    # Of a run that is over: what it was sent before, and had not read; at most 100.
    late: List[Late]
    # In the answer to a start: the run gathers inputs, and has taken this one.
    merged: bool
    newest: Heir
    origin: Origin
    # Any JSON.
    output: Any
    # ID of the value that the output refers to, which is kept apart: GET …/values/{value}. Without it the output is the
    # value, whatever it looks like.
    outputApart: str
    parent: Parent
    queue: Queue
    # How long it is kept after its end, as 30d, or forever.
    retention: str
    # The server does not have that key: payloads are shown as they lie in the database.
    sealed: bool
    # Within which it has to begin, as 90s or 7d, from when it was to: else it is cancelled, with code NOT_STARTED.
    # None: it begins whenever it does.
    startTTL: str
    # When a worker began it, where its log says so within its first 20 events.
    startedAt: str
    # How long the whole run may take from when it begins, as 90s or 7d; of a fork, from when its source began. None: it
    # has no timeout.
    timeout: str


class _RunPageRequired(TypedDict):
    runs: List[ListedRun]


class RunPage(_RunPageRequired, total=False):
    # None: this is the end.
    cursor: str
    # With a cursor: all runs that were born later were looked at.
    reached: str


class _RunRequired(TypedDict):
    # How often a worker claimed it.
    claims: int
    createdAt: str
    id: str
    # 4 is served first.
    priority: int
    status: Status
    # 0: the first taker's.
    version: int
    workflow: str


class Run(_RunRequired, total=False):
    attributes: Dict[str, Any]
    # What of its row is not what was written, and is left out here; none: nothing.
    damage: str
    # ID of the key that its payloads are encrypted with; none: they are plain.
    encryption: str
    endedAt: str
    error: Error
    # The idempotency key that it took over, with the place of the run that was started with it.
    firstKey: str
    gather: Gather
    idempotencyKey: str
    # Any JSON.
    input: Any
    # ID of the value that the input refers to, which is kept apart: GET …/values/{value}. Without it the input is the
    # value, whatever it looks like.
    inputApart: str
    # Of a run that is over: what it was sent before, and had not read; at most 100.
    late: List[Late]
    # In the answer to a start: the run gathers inputs, and has taken this one.
    merged: bool
    newest: Heir
    origin: Origin
    # Any JSON.
    output: Any
    # ID of the value that the output refers to, which is kept apart: GET …/values/{value}. Without it the output is the
    # value, whatever it looks like.
    outputApart: str
    parent: Parent
    queue: Queue
    # How long it is kept after its end, as 30d, or forever.
    retention: str
    # The server does not have that key: payloads are shown as they lie in the database.
    sealed: bool
    # Within which it has to begin, as 90s or 7d, from when it was to: else it is cancelled, with code NOT_STARTED.
    # None: it begins whenever it does.
    startTTL: str
    # When a worker began it.
    startedAt: str
    # How long the whole run may take from when it begins, as 90s or 7d; of a fork, from when its source began. None: it
    # has no timeout.
    timeout: str


class _EventBirthRequired(TypedDict):
    # Of everything random in the workflow's code; 0: hidden from this reader.
    seed: int
    workflow: str


class EventBirth(_EventBirthRequired, total=False):
    """What run_created says of the run."""

    attributes: Dict[str, Any]
    # A trace parent, and the caller's tags.
    context: Dict[str, str]
    deployment: str
    gather: Gather
    # The idempotency key.
    key: str
    # Of a delayed start.
    notBefore: str
    origin: Origin
    parent: Parent
    # What it needs to be at work, of limits, in order.
    places: List[Place]
    # 0 to 3; none: 0. One less than the run's.
    priority: int
    # How long the run is kept after its end, in ns; none: for ever.
    retention: int
    # Within which it is to begin, in ns; none: whenever it does.
    startTTL: int
    # Of the whole run, in ns; none: it has none.
    timeout: int
    # None: the first taker's highest.
    version: int


class _EventListenRequired(TypedDict):
    # Of these values.
    hash: int
    # Of the topics.
    pattern: str
    # Which values its match names.
    shape: str


class EventListen(_EventListenRequired, total=False):
    """Of a wait for an event that gets what is published, too."""

    # Also what was published up to so many nanoseconds before.
    since: int


class _EventNextBaseHooksRequired(TypedDict):
    # Number of the event that made it.
    seq: int


class EventNextBaseHooks(_EventNextBaseHooksRequired, total=False):
    segment: int


class _EventNextBaseRequired(TypedDict):
    segment: int


class EventNextBase(_EventNextBaseRequired, total=False):
    """What a reader needs of what was before, to read on from here."""

    # Keys of deliveries, 16 bytes each.
    deliveries: str
    hooks: List[EventNextBaseHooks]
    startedAt: str
    starts: List[int]
    version: int


class EventNext(TypedDict, total=False):
    """What a new segment starts from."""

    attributes: Dict[str, Any]
    # What a reader needs of what was before, to read on from here.
    base: EventNextBase
    # IDs of the open hooks.
    hooks: List[str]
    segment: int
    # Number of the event before which segments are not wanted any more; none: nothing new.
    trim: int
    # Numbers of the payloads that were not taken yet.
    unread: List[int]
    # None: as before.
    version: int


_EventNamed0 = TypedDict("_EventNamed0", {"from": "int"}, total=False)


class _EventRequired(TypedDict):
    # The event's own ID, derived from the run's and the event's number.
    eventId: str
    seq: int
    time: str
    type: EventType


class Event(_EventNamed0, _EventRequired, total=False):
    # ID of the value that the payload refers to, which is kept apart: GET …/values/{value}. Without it the payload is
    # the value, whatever it looks like.
    apart: str
    attempt: int
    # What run_created says of the run.
    birth: EventBirth
    build: str
    by: str
    chosen: bool
    commit: int
    delivery: str
    error: Error
    # Correlation ID.
    id: str
    kind: Kind
    # Of a wait for an event that gets what is published, too.
    listen: EventListen
    # A wait ends with it that got what is published.
    listened: bool
    # Any JSON.
    match: Any
    # Of the start of a segment: how many bytes its code may send at once; none: 1 MiB.
    maxPayload: int
    # Of the start of a segment: how many bytes a value may have that its code hands over; none: 64 MiB.
    maxValue: int
    name: str
    # What a new segment starts from.
    next: EventNext
    occurredAt: str
    occurrence: int
    outcome: str
    path: str
    # Any JSON.
    payload: Any
    peer: str
    # Of a queued step: what each of its attempts needs, of limits, in order.
    places: List[Place]
    queued: bool
    reason: str
    retryAt: str
    # ID of the key that payload, match and error are encrypted with, which the server does not have; none: they are
    # plain.
    sealed: str
    token: str
    until: str
    version: int


class EventPage(TypedDict):
    cursor: str
    events: List[Event]
    # Further events are there already.
    more: bool


class ForkRun(TypedDict, total=False):
    """ForkRun starts a new run from an event of another."""

    # At is the number or the ID of the last event that is taken over. None: the last one.
    at: Union[int, str]
    # ID is the ID of the new run.
    id: str
    input: Any
    # Results replace results of steps, by the name of the step as it is shown, or by its ID.
    results: Dict[str, Any]
    # Version 0 is the version of the source.
    version: int


class PauseRun(TypedDict, total=False):
    """PauseRun stops a run."""

    # Reason is kept in the log.
    reason: str


class RestartRun(TypedDict, total=False):
    """RestartRun starts a new run with the input of another."""

    # ID is the ID of the new run.
    id: str
    # InPlace replaces the other run, which is over and did not complete: a start with its key, or a wait for its
    # result, gets the new run.
    inPlace: bool
    # Input replaces the input.
    input: Any
    version: int


class _ActRequired(TypedDict):
    at: str


class Act(_ActRequired, total=False):
    by: str
    reason: str


class Progress(TypedDict):
    """What the body of a step said last of how far it is."""

    # When it was written: 10 s after it was said at most.
    at: str
    # That said it.
    attempt: int
    # Any JSON.
    value: Any


class _EntryRequired(TypedDict):
    createdAt: str
    id: str
    kind: Literal["run", "sleep", "wait", "hook"]
    name: str
    # Number of the event that created it.
    seq: int
    status: Literal["pending", "running", "completed", "failed", "waiting", "active", "disposed", "conflicted", "dropped"]
    type: Kind


class Entry(_EntryRequired, total=False):
    """A step, wait or hook."""

    attempt: int
    # A step's last start.
    attemptAt: str
    # The step worker that the last attempt of a remote step ended on.
    by: str
    completedAt: str
    earlier: List[AttemptError]
    error: Error
    # An event that may be published, too.
    listens: bool
    # Any JSON.
    match: Any
    occurrence: int
    outcome: Literal["due", "woken", "received"]
    # Any JSON.
    output: Any
    # ID of the value that the output refers to, which is kept apart: GET …/values/{value}. Without it the output is the
    # value, whatever it looks like.
    outputApart: str
    # The coroutine.
    path: str
    # The other run.
    peer: str
    progress: Progress
    # Payloads that a hook got.
    received: int
    retryAt: str
    segment: int
    startedAt: str
    # Of a hook; left out for keys of scope viewer.
    token: str
    until: str


class _UnreadRequired(TypedDict):
    at: str
    name: str
    seq: int


class Unread(_UnreadRequired, total=False):
    # Any JSON.
    payload: Any


class _JournalRequired(TypedDict):
    commits: int
    run: str
    segment: int
    seq: int
    status: Status
    steps: List[Entry]
    version: int
    workflow: str


class Journal(_JournalRequired, total=False):
    # Payloads that were set aside, as they do not fit the code: the last 100.
    aside: List[Aside]
    builds: List[str]
    cancel: Act
    completedAt: str
    createdAt: str
    # Why it ends early: the log behind it cannot be read.
    damage: str
    error: Error
    # Any JSON.
    input: Any
    # ID of the value that the input refers to, which is kept apart: GET …/values/{value}. Without it the input is the
    # value, whatever it looks like.
    inputApart: str
    # What the code had asked for and not waited for when it ended, of each segment that ended so: it was not created.
    notCreated: List[str]
    origin: Origin
    # Any JSON.
    output: Any
    # ID of the value that the output refers to, which is kept apart: GET …/values/{value}. Without it the output is the
    # value, whatever it looks like.
    outputApart: str
    parent: Parent
    paused: Act
    # Payloads were left out: they have more than 8 MiB together. The log has them, page by page.
    payloadsOmitted: bool
    startedAt: str
    # Number of the event with which it begins again, where earlier segments were trimmed.
    trimmed: int
    unread: List[Unread]


class _StreamListStreamsRequired(TypedDict):
    # Of the last chunk.
    at: str
    name: str
    # Index of the next chunk.
    next: int


class StreamListStreams(_StreamListStreamsRequired, total=False):
    # How it was closed; none: it is open.
    closed: Literal["close", "error"]


class StreamList(TypedDict):
    streams: List[StreamListStreams]


class WakeRun(TypedDict, total=False):
    """WakeRun ends delays of a run. Without a choice: retries and sleeps."""

    # Retries ends the delays before the next attempts of steps, and tries a blocked run again.
    retries: bool
    # Sleeps ends sleeps and timers.
    sleeps: bool
    # Starts ends the delay of the start.
    starts: bool


class Woken(TypedDict):
    """Woken says how many delays a wake ended, in all and of each kind."""

    retries: int
    sleeps: int
    starts: int
    woken: int


class _ScheduledRunRequired(TypedDict):
    at: str
    run: str


class ScheduledRun(_ScheduledRunRequired, total=False):
    merged: str


_ScheduleNamed0 = TypedDict("_ScheduleNamed0", {"from": "str"}, total=False)


class _ScheduleRequired(TypedDict):
    # CatchUp is how old a missed time may be to still have its run.
    catchUp: str
    # Count is how many runs it started.
    count: int
    # Missed are times without a run because no worker looked within the window.
    missed: int
    name: str
    # Overlap says what happens at a time when the last run is not over.
    overlap: Literal["skip", "queue-one", "queue-all", "cancel", "allow"]
    # Skipped are times without a run: the last run was not over, or their wait was ended.
    skipped: int
    # Times are cron expressions of 5 or 6 fields, @daily and the like, @every 6h, @every 6h+15m, @at
    # 2026-12-24T18:00:00Z. Each of them gives times.
    times: List[str]
    # Words say in English when it starts runs.
    words: str
    workflow: str


class Schedule(_ScheduleNamed0, _ScheduleRequired, total=False):
    """Schedule is a schedule, explained, with its next times."""

    # By is who created it; code: a program.
    by: str
    # Code means that the program that declares the schedule computes the input.
    code: bool
    # Completed is the last time whose run is known to have completed.
    completed: str
    # Damage is why it cannot be read.
    damage: str
    # Error is why the run of the first of Next could not be started.
    error: str
    # Input is the input of each run.
    input: Any
    jitter: str
    last: ScheduledRun
    # Next are the next ten times. None: it is over, or paused.
    next: List[str]
    # Passed is the last missed time.
    passed: str
    pauseOnFailure: bool
    paused: QueuePause
    revision: int
    # Runs is the most runs that it starts. None: any number.
    runs: int
    # Sealed is the ID of the key that encrypts the input, if the server lacks that key.
    sealed: str
    # Set is the set of a program that declares it.
    set: str
    until: str
    version: int
    # Waits is since when the first of Next waits for the end of the last run.
    waits: str
    zone: str


class _SchedulePageRequired(TypedDict):
    schedules: List[Schedule]


class SchedulePage(_SchedulePageRequired, total=False):
    """SchedulePage is a page of schedules, by name."""

    # Cursor is where the next page begins. None: this is the end.
    cursor: str


_PutScheduleNamed0 = TypedDict("_PutScheduleNamed0", {"from": "str"}, total=False)


class _PutScheduleRequired(TypedDict):
    # Times are cron expressions of 5 or 6 fields, @daily and the like, @every 6h, @every 6h+15m, @at
    # 2026-12-24T18:00:00Z. Each of them gives times.
    times: List[str]
    workflow: str


class PutSchedule(_PutScheduleNamed0, _PutScheduleRequired, total=False):
    """PutSchedule creates a schedule, or changes its settings."""

    # CatchUp is how old a missed time may be to still have its run.
    catchUp: str
    # Input is the input of each run.
    input: Any
    jitter: str
    # Overlap says what happens at a time when the last run is not over.
    overlap: Literal["skip", "queue-one", "queue-all", "cancel", "allow"]
    # PauseOnFailure pauses the schedule if its last run failed.
    pauseOnFailure: bool
    # Runs is the most runs that it starts. 0: any number.
    runs: int
    # Until is the latest time.
    until: str
    # Version is by default the highest that a live worker has.
    version: int
    # Zone is the IANA time zone of the expressions. Default UTC.
    zone: str


_BackfillScheduleNamed0 = TypedDict("_BackfillScheduleNamed0", {"from": "str"}, total=True)


class BackfillSchedule(_BackfillScheduleNamed0):
    """BackfillSchedule selects past times."""

    # Until is past, and included, as From is.
    until: str


class BackfilledSchedule(TypedDict):
    """BackfilledSchedule has the runs of the times of a backfill."""

    # Existed are the runs of times that had one.
    existed: List[str]
    started: List[str]


class PauseSchedule(TypedDict, total=False):
    """PauseSchedule stops a schedule."""

    # Reason is for people.
    reason: str


class TriggerSchedule(TypedDict, total=False):
    """TriggerSchedule starts one run."""

    # Input replaces the input of the schedule.
    input: Any


class TriggeredSchedule(TypedDict):
    """TriggeredSchedule is the run that was started."""

    run: str


class _StepOutputRequired(TypedDict):
    receipt: str


class StepOutput(_StepOutputRequired, total=False):
    # Any JSON.
    output: Any


class _StepErrorRequired(TypedDict):
    message: str


class StepError(_StepErrorRequired, total=False):
    # For programs.
    code: str
    # Of its class.
    name: str
    stack: str
    # file:line
    where: str


class _StepFailureRequired(TypedDict):
    error: StepError
    receipt: str


class StepFailure(_StepFailureRequired, total=False):
    """delay: how long to wait for the next attempt, in the place of what the definition says."""

    delay: Duration
    # It is not tried again.
    final: bool
    # It failed as it had said nothing of its progress for silenceMs.
    silent: bool


class StepFailed(TypedDict, total=False):
    # When the next attempt is due; none: the step has failed.
    retryAt: str


class _StepStandsRequired(TypedDict):
    receipt: str


class StepStands(_StepStandsRequired, total=False):
    """A step that the worker runs."""

    # How often this attempt has said its progress before.
    position: int
    # Any JSON of 4 KiB at most: how far it is.
    progress: Any


class _StepBeatRequired(TypedDict):
    worker: str


class StepBeat(_StepBeatRequired, total=False):
    tasks: List[StepStands]


class StepEnded(TypedDict):
    """A step that is to end."""

    receipt: str
    # ended: nobody waits for it any more, or another worker has it. timeout: it has had its time, and is to fail.
    why: Literal["ended", "timeout"]


class StepsBeaten(TypedDict):
    ended: List[StepEnded]
    # The worker is believed alive so long from when it sent this.
    leaseMs: int


class StepWorker(TypedDict):
    worker: str


class _StepTakeRequired(TypedDict):
    # Names of the steps that it runs.
    steps: List[str]


class StepTake(_StepTakeRequired, total=False):
    """A worker takes one by one. lease: how long it is believed alive behind a heartbeat, 10 s unless it says so; wait: 30 s at most."""

    # Receipts of all that it runs: what it was given besides was in an answer that was lost, and is ready again.
    holds: List[str]
    lease: Duration
    # So many at most.
    most: int
    # What people call a worker that joins.
    name: str
    # Counts the takes of the worker from 1, so that a copy of one that comes late takes nothing.
    number: int
    wait: Duration
    # Who takes; none: it joins, is given an ID, and nothing else yet.
    worker: str


class _StepTaskRequired(TypedDict):
    attempt: int
    # The same on every attempt, and for no other step: an idempotency key for whatever the step calls.
    id: str
    # Any JSON.
    input: Any
    # The right to say something of this attempt.
    receipt: str
    run: str
    # Its name.
    step: str
    workflow: str


class StepTask(_StepTaskRequired, total=False):
    """An attempt of a step that is to be run."""

    # Any JSON: what an attempt before said last of how far it is.
    progress: Any
    # How long it may say nothing of its progress; none: for ever.
    silenceMs: int
    # How long the attempt may take; none: as long as it likes.
    timeoutMs: int


class _StepsTakenRequired(TypedDict):
    # Time between heartbeats, while it runs steps.
    heartbeatMs: int
    tasks: List[StepTask]
    # Its ID, to be given with all that it asks.
    worker: str


class StepsTaken(_StepsTakenRequired, total=False):
    # Of a worker that has joined: it is believed alive so long.
    leaseMs: int


class _StepWriteRequired(TypedDict):
    receipt: str
    stream: str


class StepWrite(_StepWriteRequired, total=False):
    """error: nothing follows, as something went wrong."""

    chunks: List[Any]
    # Nothing follows.
    close: bool
    error: StepError
    # How many chunks and marks this attempt has added to the stream before: so one that comes twice is written once.
    position: int


class StepWritten(TypedDict):
    # Number of the first chunk.
    first: int


class _EndpointRequired(TypedDict):
    url: str


class Endpoint(_EndpointRequired, total=False):
    """Endpoint is where a subscription posts. Parts of the URL that may be secret are left out."""

    giveUp: str
    private: bool


class _StartTargetRequired(TypedDict):
    name: str


class StartTarget(_StartTargetRequired, total=False):
    """A run is started."""

    # Templates of the runs' attributes.
    attributes: Dict[str, str]
    # Template of the idempotency key: {payload.a.b}, {topic}, {id}, {header.name}; none: each message starts one run.
    key: str
    # 0: the highest that a live worker has.
    version: int


class _SubscriptionRequired(TypedDict):
    counts: MessageCounts
    # Messages is the queue that has its messages.
    messages: str
    name: str
    pattern: str


class Subscription(_SubscriptionRequired, total=False):
    """Subscription is a subscription, and how many messages its queue has."""

    at: str
    # By is who created it; code: a program that defines it.
    by: str
    endpoint: Endpoint
    # Match selects publications that contain this JSON.
    match: Any
    # Oldest is since when the first ready message has waited. None: no message is ready.
    oldest: str
    ordered: bool
    paused: QueuePause
    queue: str
    revision: int
    workflow: StartTarget


class Subscriptions(TypedDict):
    """Subscriptions is a list of subscriptions."""

    subscriptions: List[Subscription]


class _SubscribeEndpointRequired(TypedDict):
    url: str


class SubscribeEndpoint(_SubscribeEndpointRequired, total=False):
    """SubscribeEndpoint posts each publication."""

    # GiveUp is how long a message is tried. Then it becomes a dead letter.
    giveUp: str
    # Private permits addresses in private networks, if the server does.
    private: bool
    # Secret signs the requests. None: a new subscription gets a new secret.
    secret: str


class _SubscribeWorkflowRequired(TypedDict):
    name: str


class SubscribeWorkflow(_SubscribeWorkflowRequired, total=False):
    """SubscribeWorkflow starts a run for each publication."""

    # Attributes are templates of the attributes of the runs.
    attributes: Dict[str, str]
    # Key is the template of the idempotency key: {payload.a.b}, {topic}, {id}, {header.name}. None: each message starts
    # one run.
    key: str
    # Version 0 is the highest that a live worker has.
    version: int


class _SubscribeRequired(TypedDict):
    # Pattern is a topic whose words may be * (any one word) and # (any number of words).
    pattern: str


class Subscribe(_SubscribeRequired, total=False):
    """Subscribe creates a subscription, or changes its settings. It has one of Queue, Workflow and Endpoint."""

    endpoint: SubscribeEndpoint
    # Match selects publications that contain this JSON.
    match: Any
    # Ordered delivers what one source publishes under one topic one after the other, in order.
    ordered: bool
    # Queue gets a message for each publication. It is declared before.
    queue: str
    # Revision that is lower than the current one is refused.
    revision: int
    workflow: SubscribeWorkflow


class _SubscribedRequired(TypedDict):
    subscription: Subscription


class Subscribed(_SubscribedRequired, total=False):
    """Subscribed is the current state of a subscription."""

    # Secret is the new secret of its endpoint. It is shown only once.
    secret: str


class PauseSubscription(TypedDict, total=False):
    """PauseSubscription stops the deliveries of a subscription."""

    # Reason is for people.
    reason: str


class Redeliver(TypedDict, total=False):
    """Redeliver delivers dead letters of a subscription again."""

    # IDs are the messages. None: all dead letters.
    ids: List[str]


class NewSecret(TypedDict):
    """NewSecret is a new secret. It is shown only once."""

    secret: str


class _PublishRequired(TypedDict):
    # Payload is any JSON, at most 1 MiB.
    payload: Any


class Publish(_PublishRequired, total=False):
    """Publish publishes under a topic."""

    # At is when it goes out, instead of Delay.
    at: str
    # Delay is how much later it goes out, to the subscriptions of that moment: at most 365d.
    delay: str
    # DeliveryID makes a second publication under the same topic within 24h the same publication.
    deliveryId: str
    # Headers are about the publication, and not in it: at most 8 KiB.
    headers: Dict[str, str]
    # Source is who publishes. An ordered subscription gets the publications of one source under one topic in order.
    source: str


class Class(TypedDict):
    version: int
    workflow: str


class _WorkerRequired(TypedDict):
    alive: bool
    id: str
    joinedAt: str
    name: str
    runs: int
    steps: List[str]
    tasks: int
    # End of its lease.
    until: str
    workflows: List[Class]


class Worker(_WorkerRequired, total=False):
    build: str


class _CountsRequired(TypedDict):
    blocked: int
    cancelled: int
    completed: int
    failed: int
    name: str
    paused: int
    pending: int
    running: int


class Counts(_CountsRequired, total=False):
    held: Held


class HoldWorkflow(TypedDict, total=False):
    """HoldWorkflow holds a workflow."""

    # Note is the reason, for people.
    note: str


class _StartSignalRequired(TypedDict):
    event: str


class StartSignal(_StartSignalRequired, total=False):
    """StartSignal is an event that a start sends to its run."""

    # DeliveryID is delivered to a run once for each event.
    deliveryId: str
    # Payload is any JSON.
    payload: Any


class StartRun(TypedDict, total=False):
    """StartRun starts a run."""

    attributes: Dict[str, Any]
    # Context are the tags of the run, such as the headers of a trace.
    context: Dict[str, str]
    # Delay is how much later the run begins.
    delay: str
    # ID has 1 to 128 of A-Z a-z 0-9 _ . : @ ~ -. None: a new one. An ID that another run has is refused.
    id: str
    # IdempotencyKey is the same as the header Idempotency-Key.
    idempotencyKey: str
    # Input is any JSON.
    input: Any
    # Priority is 1 to 4. Runs with 4 are served first. 0: 2.
    priority: int
    # RetentionDays is how long the run is kept after its end. 0: as the workflow says. The server may lower it:
    # retention in the answer applies.
    retentionDays: int
    # Signals are events that the run gets with its start. If the idempotency key belongs to a run already, that run
    # gets them.
    signals: List[StartSignal]
    # StartTTL is how late the run may begin; forever: no limit. None: as the workflow says.
    startTTL: str
    # Timeout limits the whole run; forever: no limit. None: as the workflow says.
    timeout: str
    # Version 0 is the highest that a live worker has.
    version: int


class Version(TypedDict):
    # Of these.
    blocked: int
    # That are not over.
    runs: int
    # 0: not decided yet, as no worker has begun them.
    version: int
    # That are alive and have it.
    workers: int


class Versions(TypedDict):
    # There are more runs than were counted: the oldest are left out.
    more: bool
    versions: List[Version]
    workflow: str


# A JSON Schema, 2020-12. Of what is taken: members may be missing or more, and null may stand for any value within.
JSONSchema = Dict[str, Any]

# Any JSON.
Anything = Any

# A time like 2026-11-27T09:12:00Z, 2026-11-27 09:12 or 2026-11-27, in UTC where it names no zone; or so long ago: 90s,
# 5m, 2h, 7d.
Moment = str

Statuses = List[Literal["pending", "running", "completed", "failed", "cancelled", "blocked", "paused", "held", "delayed", "limited", "queued", "working", "retrying", "sleeping", "waiting", "damaged"]]

Holds = List[Held]

Hooks = List[Hook]

# Any JSON, as the run's code expects it.
Payload = Any

MessageState = Literal["ready", "delayed", "out", "parked", "dead"]

Status = Literal["pending", "running", "completed", "failed", "cancelled"]

# What exactly it is.
Kind = Literal["closure", "task", "child", "await", "patch", "aside", "taken", "send", "stream", "message", "publication", "sleep", "event", "condition", "receive", "hook", "attr"]

EventType = Literal["run_created", "run_started", "run_continued", "run_completed", "run_failed", "run_cancelled", "cancel_requested", "run_paused", "run_resumed", "step_created", "step_started", "step_retrying", "step_woken", "step_completed", "step_failed", "wait_created", "wait_completed", "hook_created", "hook_conflict", "hook_received", "hook_disposed", "signal_received", "attr_set"]

# 90s, 5m, 36h, 7d, 1d12h or 250ms.
Duration = str

Workers = List[Worker]

Workflows = List[Counts]
