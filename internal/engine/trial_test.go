package engine

import (
	"testing"

	"github.com/stepwell/stepwell/internal/replay"
)

// A run that rests again and again, as one whose step fails for ever, keeps a bounded number of
// witnesses.
func TestWitnessesAreBounded(t *testing.T) {
	tr := trial{on: true}
	for seq := range int64(3 * maxWitnesses) {
		tr.live()
		if m := replay.New(replay.Config{}, nil); tr.wants() {
			tr.testify(m, seq)
		} else {
			m.Close()
		}
	}
	if n := len(tr.witnesses); n != maxWitnesses {
		t.Errorf("it keeps %d witnesses, want %d", n, maxWitnesses)
	}
	for _, w := range tr.leave() {
		w.m.Close()
	}
	if tr.live(); !tr.wants() {
		t.Error("it keeps no first witness")
	}
}
