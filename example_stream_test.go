package stepwell_test

// Examples of streams: what a run says while it goes on.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
)

// A step says words, and a reader gets each of them as it comes.
func ExampleStream() {
	poem := stepwell.Define("poem", func(ctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(ctx, "compose", func(ctx context.Context) (int, error) {
			words := stepwell.Stream[string](ctx, "words")
			for _, word := range []string{"roses", "are", "red"} {
				if err := words.Write(word); err != nil {
					return 0, err
				}
			}
			return 3, words.Close()
		})
	})
	app, stop := exampleApp(poem)
	defer stop()
	ctx := context.Background()
	run, _ := poem.Start(ctx, app, 0)
	for word, err := range stepwell.ReadStream[string](ctx, app, run.ID(), "words", 0) { // ends where the stream does
		fmt.Println(word.Index, word.Value, err)
	}
	// Output:
	// 0 roses <nil>
	// 1 are <nil>
	// 2 red <nil>
}

// An attempt that goes on where the last one stood, and says nothing twice.
func ExampleStreamWriter_Keep() {
	count := stepwell.Define("count", func(ctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(ctx, "say", func(ctx context.Context) (int, error) {
			numbers := stepwell.Stream[int](ctx, "numbers")
			said, err := numbers.Written() // by earlier attempts
			if err != nil {
				return 0, err
			}
			if err := numbers.Keep(len(said)); err != nil {
				return 0, err
			}
			for n := len(said) + 1; n <= 3; n++ {
				if err := errors.Join(numbers.Write(n), numbers.Flush()); err != nil {
					return 0, err
				}
				if n == 2 && stepwell.Info(ctx).Attempt == 1 {
					return 0, errors.New("out of breath")
				}
			}
			return len(said), numbers.Close()
		}, stepwell.Retry{Base: time.Millisecond})
	})
	app, stop := exampleApp(count)
	defer stop()
	ctx := context.Background()
	run, _ := count.Start(ctx, app, 0)
	for n, err := range stepwell.ReadStream[int](ctx, app, run.ID(), "numbers", 0) {
		fmt.Println(n.Value, "by attempt", n.Attempt, err)
	}
	// Output:
	// 1 by attempt 1 <nil>
	// 2 by attempt 1 <nil>
	// 3 by attempt 2 <nil>
}

// A stream that ends before it is complete says so to its readers.
func ExampleStreamWriter_CloseWithError() {
	answer := stepwell.Define("answer", func(ctx stepwell.Context, _ int) (int, error) {
		return 0, stepwell.Do(ctx, "ask", func(ctx context.Context) error {
			words := stepwell.Stream[string](ctx, "words")
			return errors.Join(words.Write("well"), words.CloseWithError(errors.New("the model hung up")))
		})
	})
	app, stop := exampleApp(answer)
	defer stop()
	ctx := context.Background()
	run, _ := answer.Start(ctx, app, 0)
	for word, err := range stepwell.ReadStream[string](ctx, app, run.ID(), "words", 0) {
		if cut, ok := errors.AsType[*stepwell.StreamError](err); ok {
			fmt.Println("incomplete:", cut.Unwrap())
			break
		}
		fmt.Println(word.Value)
	}
	// Output:
	// well
	// incomplete: the model hung up
}

// Workflow code writes, too: once, however often it runs again.
func ExampleWriteStream() {
	bake := stepwell.Define("bake", func(ctx stepwell.Context, cake string) (string, error) {
		for _, stage := range []string{"mixing", "baking"} {
			if err := stepwell.WriteStream(ctx, "progress", stage); err != nil {
				return "", err
			}
			if err := stepwell.Sleep(ctx, stage, time.Millisecond); err != nil {
				return "", err
			}
		}
		return cake, stepwell.CloseStream(ctx, "progress")
	})
	app, stop := exampleApp(bake)
	defer stop()
	ctx := context.Background()
	run, _ := bake.Start(ctx, app, "tart")
	for stage, err := range stepwell.ReadStream[string](ctx, app, run.ID(), "progress", 0) {
		fmt.Println(stage.Value, err)
	}
	fmt.Println(run.Result(ctx))
	// Output:
	// mixing <nil>
	// baking <nil>
	// tart <nil>
}

// What a run has said, and in which streams; chunks as JSON, from the second on.
func ExampleApp_Streams() {
	talk := stepwell.Define("talk", func(ctx stepwell.Context, _ int) (int, error) {
		return 0, errors.Join(stepwell.WriteStream(ctx, "aside", "psst"), stepwell.WriteStream(ctx, "loud", "hello"), stepwell.WriteStream(ctx, "loud", "there"))
	})
	app, stop := exampleApp(talk)
	defer stop()
	ctx := context.Background()
	run, _ := talk.Start(ctx, app, 0)
	_, _ = run.Result(ctx)
	streams, err := app.Streams(ctx, run.ID())
	for _, s := range streams {
		fmt.Println(s.Name, err)
	}
	for chunk, err := range app.ReadStream(ctx, run.ID(), "loud", 1) {
		fmt.Println(string(chunk.Value), err)
	}
	// Output:
	// aside <nil>
	// loud <nil>
	// "there" <nil>
}
