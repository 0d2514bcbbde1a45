// What can be refused without looking at anything: malformed commits and deliveries.

package world

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// priorities are 0 to 3.
const priorities = 4

// CheckCommit returns [ErrInvalid] or [ErrTooLarge] for a commit that no store can accept. Stores
// call it first.
func CheckCommit(c *Commit) error {
	_, err := checkCommit(c)
	return err
}

// CheckDelivery returns [ErrInvalid] or [ErrTooLarge] for a delivery that no store can accept.
func CheckDelivery(d *Delivery) error {
	_, err := checkDelivery(d)
	return err
}

// checkCommit also tells how many bytes the commit has.
func checkCommit(c *Commit) (bytes int, err error) {
	s, err := checkEvents(c)
	if err != nil {
		return s, err
	}
	for i := range c.Tasks {
		t := &c.Tasks[i]
		s += encryptedBytes(len(t.Input), t.Encrypted) + len(t.Options) + len(t.Name)
		switch {
		case t.Step == "" || t.Run != "" && t.Run != c.Run:
			return s, fmt.Errorf("%w: run %s: task %d is of run %q, step %q", ErrInvalid, c.Run, i, t.Run, t.Step)
		case t.Worker != "" && t.Worker != c.Worker:
			return s, fmt.Errorf("%w: run %s: task %s is created held by another worker, %s", ErrInvalid, c.Run, t.Step, t.Worker)
		case t.Priority < 0 || t.Priority >= priorities:
			return s, fmt.Errorf("%w: run %s: task %s: priority %d is not 0 to 3", ErrInvalid, c.Run, t.Step, t.Priority)
		}
		if err := cmp.Or(CheckName("task name", t.Name), CheckTime("visible", t.Visible), t.checkPlaces()); err != nil {
			return s, fmt.Errorf("run %s: task %s: %w", c.Run, t.Step, err)
		}
	}
	for i := range c.Births {
		if err := checkChild(c.Births[i]); err != nil {
			return s, fmt.Errorf("run %s: start %d: %w", c.Run, i, err)
		}
		child, err := checkCommit(c.Births[i])
		if err != nil {
			return s, fmt.Errorf("run %s: start %d: %w", c.Run, i, err)
		}
		s += child
	}
	for i := range c.Send {
		d := &c.Send[i]
		if d.Act || d.Task != nil || d.Repeat {
			return s, fmt.Errorf("%w: run %s: send %d is not a delivery", ErrInvalid, c.Run, i)
		}
		n, err := checkDelivery(d)
		if err != nil {
			return s, fmt.Errorf("run %s: send %d: %w", c.Run, i, err)
		}
		s += n
	}
	if r := c.Release; r != nil {
		err := CheckTime("wakeAt", r.WakeAt)
		if err == nil && r.Blocked != nil {
			err = CheckTime("blocked since", r.Blocked.Since)
		}
		if err != nil {
			return s, fmt.Errorf("run %s: release: %w", c.Run, err)
		}
	}
	if err := checkConditions(c); err != nil {
		return s, err
	}
	if len(c.Prints) > 0 {
		if err := checkPrints(c); err != nil {
			return s, err
		}
	}
	if len(c.Streams) > 0 {
		n, err := checkStreams(c)
		if s += n; err != nil {
			return s, err
		}
	}
	if len(c.Messages) > 0 {
		n, err := checkSentMessages(c)
		if s += n; err != nil {
			return s, err
		}
	}
	if len(c.Published) > 0 {
		n, err := checkPublished(c)
		if s += n; err != nil {
			return s, err
		}
	}
	for _, keys := range [][]TaskKey{c.Held, c.Dropped} {
		for _, k := range keys {
			if k.Run != c.Run {
				return s, fmt.Errorf("%w: run %s: task of another run, %s", ErrInvalid, c.Run, k.Run)
			}
		}
	}
	if s > MaxCommit {
		return s, tooLarge(c, s)
	}
	return s, nil
}

// tooLarge refuses a commit of more than MaxCommit bytes, unless it is a birth whose log may have several rows: then no event may be larger.
func tooLarge(c *Commit, bytes int) error {
	if !c.Birth() || c.Worker != "" || len(c.Births)+len(c.Send) > 0 {
		return fmt.Errorf("%w: run %s: commit at event %d has %d bytes, more than %d; split it", ErrTooLarge, c.Run, c.First, bytes, MaxCommit)
	}
	for i := range c.Events {
		if n := eventBytes(&c.Events[i]); n > MaxCommit {
			return fmt.Errorf("%w: run %s: event %d has %d bytes, more than %d", ErrTooLarge, c.Run, i+1, n, MaxCommit)
		}
	}
	return nil
}

func checkEvents(c *Commit) (s int, err error) {
	if c.Run == "" {
		return s, fmt.Errorf("%w: commit without a run", ErrInvalid)
	}
	if c.Ack != "" && !c.Birth() {
		return s, fmt.Errorf("%w: run %s: only a commit that creates the run can acknowledge messages", ErrInvalid, c.Run)
	}
	if c.Schedule != nil {
		if !c.Birth() || c.Worker != "" || c.Ack != "" {
			return s, fmt.Errorf("%w: run %s: only a start by a client can belong to a schedule", ErrInvalid, c.Run)
		}
		if err := CheckSchedule(c.Schedule); err != nil {
			return s, fmt.Errorf("run %s: %w", c.Run, err)
		}
	}
	if c.First < 1 {
		return s, fmt.Errorf("%w: run %s: first event %d", ErrInvalid, c.Run, c.First)
	}
	if len(c.Worker) > MaxRunID || len(c.Build) > MaxName {
		return s, fmt.Errorf("%w: run %s: worker %s, build %s: want %d and %d bytes at most", ErrInvalid, c.Run, show(c.Worker), show(c.Build), MaxRunID, MaxName)
	}
	for i := range c.Events {
		e := &c.Events[i]
		s += eventBytes(e)
		if err := errors.Join(e.checkTimes(), e.checkApart(), e.checkSaid(), e.checkSizes()); err != nil {
			return s, fmt.Errorf("run %s: event %d: %w", c.Run, c.First+int64(i), err)
		}
		switch {
		case len(e.Name) > MaxName:
			return s, fmt.Errorf("%w: run %s: event %d: a name of %d bytes: want %d at most", ErrInvalid, c.Run, c.First+int64(i), len(e.Name), MaxName)
		case e.Type == AttrSet && len(e.Name)+len(e.Payload) > MaxAttributeBytes:
			return s, fmt.Errorf("%w: run %s: attribute %s has %d bytes: want %d at most", ErrTooLarge, c.Run, show(e.Name), len(e.Payload), MaxAttributeBytes)
		case e.Seq != 0 && e.Seq != c.First+int64(i):
			return s, fmt.Errorf("%w: run %s: event %d has number %d", ErrInvalid, c.Run, c.First+int64(i), e.Seq)
		case e.Type == RunCreated:
			if err := checkBirth(c, i); err != nil {
				return s, err
			}
		case e.Type.Terminal() && i != len(c.Events)-1:
			return s, fmt.Errorf("%w: run %s: %s is not the last event of its commit", ErrInvalid, c.Run, e.Type)
		case e.Type == RunContinued && e.Next == nil:
			return s, fmt.Errorf("%w: run %s: no continuation", ErrInvalid, c.Run)
		case e.Type == RunContinued && e.Next.Trim != 0 && (e.Next.Base == nil || e.Next.Trim < 2 || e.Next.Trim > c.First+int64(i)):
			return s, fmt.Errorf("%w: run %s: event %d cannot trim what is before event %d", ErrInvalid, c.Run, c.First+int64(i), e.Next.Trim)
		case e.Type == HookCreated:
			if err := CheckToken(e.Token); err != nil {
				return s, fmt.Errorf("run %s: %w", c.Run, err)
			}
		}
	}
	return s, nil
}

func checkBirth(c *Commit, i int) error {
	b := c.Events[i].Birth
	switch {
	case i != 0 || c.First != 1:
		return fmt.Errorf("%w: run %s: run_created as event %d", ErrInvalid, c.Run, c.First+int64(i))
	case b == nil:
		return fmt.Errorf("%w: run %s: the start is missing", ErrInvalid, c.Run)
	case b.Priority < 0 || b.Priority >= priorities:
		return fmt.Errorf("%w: run %s: priority %d is not 0 to 3", ErrInvalid, c.Run, b.Priority)
	case b.Retention < 0 || b.Timeout < 0 || b.StartTTL < 0:
		return fmt.Errorf("%w: run %s: retention %s, timeout %s, start TTL %s: must not be negative", ErrInvalid, c.Run, b.Retention, b.Timeout, b.StartTTL)
	case c.Worker == "" && c.Release != nil:
		return fmt.Errorf("%w: run %s: released by nobody", ErrInvalid, c.Run)
	case c.Worker != "" && c.Ack != "":
		return fmt.Errorf("%w: run %s: a start by a worker cannot acknowledge messages", ErrInvalid, c.Run)
	}
	if c.Ack != "" {
		if _, _, err := ReadReceipt(c.Ack); err != nil {
			return fmt.Errorf("run %s: %w", c.Run, err)
		}
	}
	if err := CheckVersion(b.Version); err != nil {
		return fmt.Errorf("run %s: %w", c.Run, err)
	}
	if err := CheckRunID(c.Run); err != nil {
		return err
	}
	if err := CheckWorkflowName(b.Workflow); err != nil {
		return err
	}
	if err := CheckAttributes(b.Attributes); err != nil {
		return fmt.Errorf("run %s: %w", c.Run, err)
	}
	if err := CheckPlaces(b.Places); err != nil {
		return fmt.Errorf("run %s: %w", c.Run, err)
	}
	if err := b.checkSingle(); err != nil {
		return fmt.Errorf("run %s: %w", c.Run, err)
	}
	if b.Gather != nil {
		if err := b.Gather.Check(); err != nil {
			return fmt.Errorf("run %s: %w", c.Run, err)
		}
	}
	if err := checkGathering(c, b); err != nil {
		return err
	}
	if c.Schedule != nil && slices.ContainsFunc(b.Places, func(p Place) bool { return p.Refuse }) {
		return fmt.Errorf("%w: run %s: its rate refuses starts, and a schedule cannot try again", ErrInvalid, c.Run)
	}
	if len(b.Places) > 0 && c.Worker != "" {
		return fmt.Errorf("%w: run %s: a run under limits is created in the queue, not by a worker", ErrInvalid, c.Run)
	}
	if err := checkContext(b.Context); err != nil {
		return fmt.Errorf("run %s: %w", c.Run, err)
	}
	if b.Deployment != "" {
		if err := CheckName("deployment", b.Deployment); err != nil {
			return fmt.Errorf("run %s: %w", c.Run, err)
		}
	}
	if of, ok := strings.CutPrefix(b.Key, RetryKey("")); ok && (b.Origin == nil || b.Origin.Run != of) {
		return fmt.Errorf("%w: run %s: idempotency key %q: keys that begin with %q are reserved for runs that replace others", ErrInvalid, c.Run, b.Key, RetryKey(""))
	}
	if b.Key != "" {
		return CheckKey("idempotency key", b.Key)
	}
	return nil
}

func checkPrints(c *Commit) error {
	if n := len(BirthDeliveries(c)); len(c.Prints) > n {
		return fmt.Errorf("%w: run %s: %d fingerprints, and %d signals with an ID that it is created with", ErrInvalid, c.Run, len(c.Prints), n)
	}
	for _, p := range c.Prints {
		if len(p) > maxPrint {
			return fmt.Errorf("%w: run %s: a fingerprint of %d bytes, more than %d", ErrInvalid, c.Run, len(p), maxPrint)
		}
	}
	return nil
}

func checkChild(c *Commit) error {
	if c == nil || !c.Birth() || c.Worker != "" || len(c.Births)+len(c.Send)+len(c.Conditions)+len(c.Anew)+len(c.Held)+len(c.Streams)+len(c.Messages)+len(c.Published)+len(c.Ack) > 0 || c.Schedule != nil {
		return fmt.Errorf("%w: not a plain start", ErrInvalid)
	}
	return nil
}

func checkConditions(c *Commit) error {
	for _, a := range c.Anew {
		if a.Step == "" || a.Run == "" || a.Run == c.Run || a.At.IsZero() || c.Birth() || c.End() != nil {
			return fmt.Errorf("%w: run %s: step %q cannot wait for what took the place of run %q", ErrInvalid, c.Run, a.Step, a.Run)
		}
	}
	for i, cond := range c.Conditions {
		ok := cond.Event >= 0 && cond.Event < len(c.Events)
		if ok {
			e := &c.Events[cond.Event]
			switch {
			case e.Type == HookCreated:
			case c.End() != nil:
				ok = false // nothing is appended behind the end
			case e.Type == StepCreated && e.Kind == KindChild:
				ok = cond.Birth >= 0 && cond.Birth < len(c.Births)
			case e.Type == StepCreated && e.Kind == KindSend:
				ok = cond.Send >= 0 && cond.Send < len(c.Send) && c.Send[cond.Send].Run == e.Peer && e.Peer != c.Run
			default:
				ok = e.Type == StepCreated && e.Kind == KindAwait
			}
		}
		if !ok {
			return fmt.Errorf("%w: run %s: condition %d fits no event", ErrInvalid, c.Run, i)
		}
	}
	return nil
}

const maxPrint = 64

// checkDelivery refuses what can never be accepted and tells how large the delivery is.
func checkDelivery(d *Delivery) (bytes int, err error) {
	bad := func(what string) (int, error) {
		return 0, fmt.Errorf("%w: delivery to run %q: %s", ErrInvalid, d.Run, what)
	}
	if err := CheckTime("retryAt", d.RetryAt); err != nil {
		return 0, fmt.Errorf("delivery to run %q: %w", d.Run, err)
	}
	if d.ID != "" {
		if err := CheckKey("delivery ID", d.ID); err != nil {
			return 0, err
		}
	}
	if d.Sender != "" {
		if err := CheckKey("sender", d.Sender); err != nil {
			return 0, err
		}
	}
	if d.Of != "" {
		if err := CheckToken(d.Of); err != nil {
			return 0, err
		}
	}
	if d.Repeat && (d.ID == "" || d.Act || d.Task != nil) {
		return bad("only mail with a delivery ID can be a repeat")
	}
	if d.Unbegun && (!d.Act || len(d.Events) != 1 || d.Events[0].Type != RunCancelled) {
		return bad("only a forced cancel can be for a run that has not begun")
	}
	if len(d.Print) > maxPrint {
		return bad(fmt.Sprintf("a fingerprint of %d bytes, more than %d", len(d.Print), maxPrint))
	}
	for i := range d.Events {
		e := &d.Events[i]
		if e.Seq != 0 {
			return bad("an event has a number")
		}
		err := errors.Join(e.checkTimes(), e.checkApart(), e.checkSaid())
		if err == nil && e.Type == RunCancelled { // none of its code says more
			err = cmp.Or(CheckBy(e.By), CheckReason("run_cancelled: reason", e.Reason))
		}
		if err != nil {
			return 0, fmt.Errorf("delivery to run %q: %w", d.Run, err)
		}
		bytes += encryptedBytes(len(e.Payload), e.Encrypted) + len(e.Name) + len(e.Reason)
		if e.Error != nil {
			bytes += e.Error.Size()
		}
	}
	if bytes > MaxCommit {
		return 0, fmt.Errorf("%w: delivery to run %q has %d bytes, more than %d", ErrTooLarge, d.Run, bytes, MaxCommit)
	}
	if d.Task != nil {
		return bytes, checkTaskEnd(d)
	}
	if slices.ContainsFunc(d.Events, func(e Event) bool { return e.Apart != "" }) {
		return bad("only the end of a task can refer to a large value: other deliveries contain their payload")
	}
	switch {
	case (d.Run == "") == (d.Token == ""):
		return bad("it needs a run or a token")
	case len(d.Events) != 1:
		return bad(fmt.Sprintf("it has %d events, not one", len(d.Events)))
	case !d.RetryAt.IsZero():
		return bad("RetryAt without a task")
	}
	e := &d.Events[0]
	switch e.Type {
	case SignalReceived:
		if err := CheckName("signal", e.Name); err != nil {
			return 0, err
		}
	case HookReceived, CancelRequested, WaitCompleted, StepCompleted, StepFailed:
	case StepRetrying:
		if e.Attempt < 1 || e.Error == nil || e.Error.Code != CodeAbandoned {
			return bad("a step_retrying is sent to say that an attempt was abandoned, and this one does not")
		}
	case StepWoken:
		if e.Attempt < 1 {
			return bad("a step_woken names the attempt that ended last")
		}
	case RunPaused, RunResumed:
		if e.Outcome != "" && !d.Wakes() {
			return bad("a pause and a resumption have no outcome; a wake is an act")
		}
		if d.Token == "" {
			return bytes, nil // as an act, or as mail
		}
	case InputReceived:
		if d.Act && d.Token == "" && d.Items > 0 && d.Items <= MaxGathered && e.Payload != nil && d.ID != "" {
			return bytes, nil
		}
		return bad("an input is an act, with an ID")
	case RunCancelled:
		if d.Act && d.Token == "" {
			return bytes, nil
		}
		return bad("run_cancelled is an act")
	default:
		return bad(fmt.Sprintf("an event of type %q cannot be sent", e.Type))
	}
	switch {
	case d.Act:
		return bad(string(e.Type) + " is not an act")
	case d.Token != "" && e.Type != HookReceived:
		return bad("only hook_received goes by token")
	case d.Token == "" && e.ID == "" && e.Type != SignalReceived && e.Type != CancelRequested:
		return bad("no correlation ID")
	}
	return bytes, nil
}

func checkTaskEnd(d *Delivery) error {
	bad := func(what string) error {
		return fmt.Errorf("%w: task %s of run %s: %s", ErrInvalid, d.Task.Step, d.Task.Run, what)
	}
	switch {
	case d.Act || d.Token != "" || d.Run != "" && d.Run != d.Task.Run:
		return bad("the delivery is something else as well")
	case len(d.Events) == 0:
		return bad("no events")
	}
	for i := range d.Events {
		switch e := &d.Events[i]; {
		case e.ID != d.Task.Step:
			return bad(fmt.Sprintf("its end has an event of %q", e.ID))
		case e.Type != StepStarted && e.Type != StepRetrying && e.Type != StepWoken && e.Type != StepCompleted && e.Type != StepFailed:
			return bad(fmt.Sprintf("its end has an event of type %q", e.Type))
		}
	}
	if d.WakesTask() {
		if d.Worker != "" || !d.RetryAt.IsZero() || d.Events[0].Attempt != d.Task.Attempt || d.Task.Attempt < 1 {
			return bad("a step_woken has no worker, and is about the attempt that ended last")
		}
		return nil
	}
	if d.ExpiresTask() {
		if d.Worker != "" || !d.RetryAt.IsZero() || d.Events[0].Attempt != 0 || d.Events[0].Error == nil {
			return bad("the end of a step that has not begun has no worker, and a reason")
		}
		return nil
	}
	last := &d.Events[len(d.Events)-1]
	if !d.RetryAt.IsZero() {
		if len(d.Events) != 1 || last.Type != StepRetrying {
			return bad("a retry is one step_retrying")
		}
		return nil
	}
	if last.Type != StepCompleted && last.Type != StepFailed {
		return bad("its last event is not its end")
	}
	return nil
}

// eventBytes is what an event counts for in the size of its commit.
func eventBytes(e *Event) int {
	n := encryptedBytes(len(e.Payload), e.Encrypted) + len(e.Name) + len(e.Path) + len(e.Token) + len(e.Match) + len(e.Reason)
	if e.Error != nil {
		n += e.Error.Size()
	}
	if e.Birth != nil {
		n += attributeBytes(e.Birth.Attributes)
	}
	if e.Next != nil {
		n += attributeBytes(e.Next.Attributes) + e.Next.Base.bytes()
	}
	return n
}

// encryptedBytes is what a payload counts for: encrypted, it is text that is a third longer than what was encrypted, and limits are of that.
func encryptedBytes(n int, key string) int {
	if key == "" {
		return n
	}
	return max(n/4*3-encryptedMore, 0)
}

// encryptedMore is what encryption adds to a payload beside that, at most.
const encryptedMore = 320

// EncryptedSize returns the largest encrypted size of a payload of at most limit bytes. A limit of
// 0 or less is returned as it is.
func EncryptedSize(limit int) int {
	if limit <= 0 {
		return limit
	}
	return (limit+encryptedMore)/3*4 + 4
}

func attributeBytes(attributes map[string]json.RawMessage) (n int) {
	for name, value := range attributes {
		n += len(name) + len(value)
	}
	return n
}
