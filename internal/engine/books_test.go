package engine

import "testing"

// TestADoubtOutlivesAnOlderAccount: a heartbeat may be under way when the answer to a claim is lost. Its account may be
// from before the claim: only that of a later one shows what the claim gave.
func TestADoubtOutlivesAnOlderAccount(t *testing.T) {
	var b books
	b.doubtsAll(1)
	if b.sift(2, nil, 1, 1); b.open() {
		t.Fatal("an account has shown all, and more are asked for")
	}
	if !b.doubts(3) { // the third is under way
		t.Fatal("accounts come, and it is not known")
	}
	if b.sift(3, nil, 2, 2); !b.open() {
		t.Error("with the account of a heartbeat that had begun before, nobody asks for another")
	}
	b.doubts(4)
	if b.none(4, true, true); !b.open() {
		t.Error("with an account that is not to be compared, of a heartbeat that had begun before, nobody asks for another")
	}
	given := stranger{holding: holding{run: "run", number: 1}}
	if lost := b.sift(5, []stranger{given}, 2, 2); len(lost) > 0 || !b.open() {
		t.Errorf("at first sight %v is lost, and more are asked for: %v", lost, b.open())
	}
	if lost := b.sift(6, []stranger{given}, 2, 2); len(lost) != 1 {
		t.Errorf("got %v, want what the claim gave", lost)
	}
	if b.sift(7, nil, 2, 2); b.open() {
		t.Error("all is known, and more are asked for")
	}
}
