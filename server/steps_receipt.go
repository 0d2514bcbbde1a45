package server

// This file has receipts: what a step worker names an attempt by, and what the server needs of it again.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// stepReceipt is of an attempt that a step worker was given.
type stepReceipt struct {
	Worker   string          `json:"w"`
	Run      string          `json:"r"`
	Step     string          `json:"s"`
	Attempt  int             `json:"a"`
	Began    int64           `json:"b"`           // µs
	First    int64           `json:"f,omitempty"` // when the first attempt began, µs; 0: this is it
	Failures int             `json:"n,omitempty"` // of those before
	Options  json.RawMessage `json:"o,omitempty"` // what the definition says, as it travels with the task
}

// mostReceipt is how long one may be.
const mostReceipt = 16 << 10

func receiptOf(t *world.Task, now time.Time) *stepReceipt {
	rc := &stepReceipt{
		Worker: t.Worker, Run: t.Run, Step: t.Step, Attempt: t.Attempt, Began: now.UnixMicro(), Failures: t.Failures,
		Options: t.Options,
	}
	if !t.First.IsZero() {
		rc.First = t.First.UnixMicro()
	}
	return rc
}

func (rc *stepReceipt) text() string {
	b, _ := json.Marshal(rc) // its options are JSON that was read before
	return base64.RawURLEncoding.EncodeToString(b)
}

func readReceipt(text string) (*stepReceipt, error) {
	bad := invalid("%.40q is not a receipt: send it as you received it", text)
	if len(text) > mostReceipt {
		return nil, bad
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, bad
	}
	rc := new(stepReceipt)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if d.Decode(rc) != nil || rc.Worker == "" || rc.Run == "" || rc.Step == "" || rc.Attempt < 1 || rc.Began <= 0 || rc.First < 0 || rc.Failures < 0 {
		return nil, bad
	}
	return rc, nil
}

func (rc *stepReceipt) key() world.TaskKey {
	return world.TaskKey{Run: rc.Run, Step: rc.Step, Attempt: rc.Attempt}
}

func (rc *stepReceipt) began() time.Time { return time.UnixMicro(rc.Began).UTC() }

func (rc *stepReceipt) first() time.Time {
	if rc.First == 0 {
		return rc.began()
	}
	return time.UnixMicro(rc.First).UTC()
}

// late reports whether the attempt has had its time.
func (rc *stepReceipt) late(now time.Time) bool {
	rule := kit.StepRuleOf(rc.Options)
	return rule.Timeout > 0 && now.Sub(rc.began()) >= rule.Timeout
}

// readReceipts reads those of one worker.
func readReceipts(worker string, texts []string) ([]*stepReceipt, error) {
	all := make([]*stepReceipt, len(texts))
	for i, text := range texts {
		rc, err := readReceipt(text)
		if err != nil {
			return nil, err
		}
		if rc.Worker != worker {
			return nil, invalid("the receipt %.40q is of another worker", text)
		}
		all[i] = rc
	}
	return all, nil
}

// keysOf are the attempts that receipts of a worker name.
func keysOf(worker string, texts []string) ([]world.TaskKey, error) {
	all, err := readReceipts(worker, texts)
	keys := make([]world.TaskKey, len(all))
	for i, rc := range all {
		keys[i] = rc.key()
	}
	return keys, err
}
