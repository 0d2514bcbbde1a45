package blob_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/world/memory"
)

// working is an App that works on runs in this process.
func working(defs ...stepwell.Definition) (app *stepwell.App, stop func()) {
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: defs})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	return app, func() {
		cancel()
		if err := <-done; err != nil {
			log.Fatal(err)
		}
	}
}

// A step writes a report that is never whole in memory, another reads it, and so does the program.
func ExampleCreate() {
	report := stepwell.Define("report", func(ctx stepwell.Context, rows int) (blob.Ref, error) {
		return stepwell.Step(ctx, "write", func(ctx context.Context) (blob.Ref, error) {
			return blob.Create(ctx, func(w io.Writer) error {
				for i := range rows {
					if _, err := fmt.Fprintln(w, "row", i); err != nil {
						return err
					}
				}
				return nil
			})
		})
	})
	app, stop := working(report)
	defer stop()
	ctx := context.Background()
	run, err := report.Start(ctx, app, 3)
	if err != nil {
		log.Fatal(err)
	}
	ref, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	r, err := blob.Read(ctx, app, run.ID(), ref)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(r)
	fmt.Println(strings.HasPrefix(ref.ID(), "valu_"), ref.IsZero())
	fmt.Printf("%d bytes: %q %v\n", ref.Size(), text, err)
	// Output:
	// true false
	// 18 bytes: "row 0\nrow 1\nrow 2\n" <nil>
}

// A program hands a file to a run, a step of which reads it.
func ExampleOpen() {
	count := stepwell.Define("count", func(ctx stepwell.Context, of blob.Ref) (int, error) {
		return stepwell.Step(ctx, "count", func(ctx context.Context) (n int, err error) {
			r, err := blob.Open(ctx, of)
			if err != nil {
				return 0, err
			}
			defer func() { _ = r.Close() }()
			lines := bufio.NewScanner(r)
			for lines.Scan() {
				n++
			}
			return n, lines.Err()
		})
	})
	app, stop := working(count)
	defer stop()
	ctx := context.Background()
	ref, err := blob.Put(ctx, app, "import-2026-05", strings.NewReader("a\nb\nc\n"))
	if err != nil {
		log.Fatal(err)
	}
	run, err := count.Start(ctx, app, ref, stepwell.RunID("import-2026-05"))
	if err != nil {
		log.Fatal(err)
	}
	n, err := run.Result(ctx)
	fmt.Println(n, err)
	// Output: 3 <nil>
}

// A step keeps what it fetches, and hands on a reference within its result.
func ExampleFrom() {
	type page struct {
		URL  string
		Text blob.Ref
	}
	crawl := stepwell.Define("crawl", func(ctx stepwell.Context, url string) (page, error) {
		return stepwell.Step(ctx, "fetch", func(ctx context.Context) (page, error) {
			body := strings.NewReader("one\ntwo\n") // of a response
			text, err := blob.From(ctx, body)
			return page{url, text}, err
		})
	})
	app, stop := working(crawl)
	defer stop()
	run, err := crawl.Start(context.Background(), app, "https://example.com")
	if err != nil {
		log.Fatal(err)
	}
	p, err := run.Result(context.Background())
	fmt.Println(p.URL, p.Text.Size(), err)
	// Output: https://example.com 8 <nil>
}
