package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/stepwelltest"
)

func Example() {
	if err := os.Chdir("../.."); err != nil { // where it is run from
		fmt.Println(err)
	}
	main()
	// Output:
	// LICENSE: 1581 words in 12 chunks
}

func TestTheChunksAreTheWholeFile(t *testing.T) {
	env := stepwelltest.NewWith(t, stepwelltest.Options{
		Config:    stepwell.Config{Definitions: []stepwell.Definition{Wordcount, Split, Count}},
		RealSteps: true, // they read the file
	})
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	total := stepwelltest.Start(env, Wordcount, "main.go").MustComplete()
	if want := len(bytes.Fields(text)); total.Words != want {
		t.Errorf("got %d words, want %d", total.Words, want)
	}
	if total.Chunks < 2 || total.Chunks > len(text)/chunkSize+1 {
		t.Errorf("got %d chunks of %d bytes", total.Chunks, len(text))
	}
}

func TestAChunkThatFailsIsCountedAgainAndNoOther(t *testing.T) {
	env := stepwelltest.New(t, Wordcount, Split, Count)
	stepwelltest.Return(env, Split.Name(), []Chunk{{To: 1}, {To: 2}, {To: 3}})
	stepwelltest.FakeStep(env, Count, func(ctx context.Context, c Chunk) (int, error) {
		if c.To == 2 && stepwell.Info(ctx).Attempt == 1 {
			return 0, fmt.Errorf("the disk is away")
		}
		return int(c.To), nil
	})
	run := stepwelltest.Start(env, Wordcount, "a file")
	if got, want := run.MustComplete(), (Total{Words: 6, Chunks: 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	for i, want := range []int{1, 1, 2, 1} {
		if got := run.Journal().Entries[i].Attempt; got != want {
			t.Errorf("step %d: got %d attempts, want %d", i, got, want)
		}
	}
	env.CrashEverywhere()
}

func TestAForkCountsWhatWasNotCounted(t *testing.T) {
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Wordcount, Split, Count}},
		Start:  forktest.Start(Wordcount, "main_test.go"),
	})
}
