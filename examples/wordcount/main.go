// Wordcount counts the words of a text file by chunks, many at once: each chunk is a registered step, which any worker of a fleet
// may take. What has been counted is not counted again, whoever dies.
//
//	go run ./examples/wordcount
//	go run ./examples/wordcount README.md
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Chunk is a part of a file that begins and ends with a line. Steps hand over where the text is, not the text.
type Chunk struct {
	Path string `json:"path"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// Total is what the workflow returns.
type Total struct {
	Words  int `json:"words"`
	Chunks int `json:"chunks"`
}

const (
	chunkSize = 1000 // bytes, at least
	atOnce    = 8
)

// Wordcount is the workflow.
var Wordcount = stepwell.Define("wordcount", func(ctx stepwell.Context, path string) (Total, error) {
	chunks, err := Split.Run(ctx, path)
	if err != nil {
		return Total{}, err
	}
	counts, err := stepwell.Map(ctx, chunks, atOnce, func(ctx stepwell.Context, c Chunk) (int, error) {
		return Count.Run(ctx, c)
	})
	total := Total{Chunks: len(counts)}
	for _, n := range counts {
		total.Words += n
	}
	return total, err
})

// Split says where the chunks of a file are.
var Split = stepwell.DefineStep("split", func(_ context.Context, path string) ([]Chunk, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var chunks []Chunk
	for from := 0; from < len(text); {
		to := len(text)
		if from+chunkSize < to {
			if line := bytes.IndexByte(text[from+chunkSize:], '\n'); line >= 0 {
				to = from + chunkSize + line + 1
			}
		}
		chunks = append(chunks, Chunk{Path: path, From: int64(from), To: int64(to)})
		from = to
	}
	return chunks, nil
})

// Count counts the words of a chunk.
var Count = stepwell.DefineStep("count", func(_ context.Context, c Chunk) (int, error) {
	f, err := os.Open(c.Path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, c.From, c.To-c.From))
	return len(bytes.Fields(text)), err
}, stepwell.Timeout(time.Minute))

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")

func main() {
	flag.Parse()
	path := cmp.Or(flag.Arg(0), "LICENSE")
	stepwell.Main(stepwell.Config{Database: *db, Definitions: []stepwell.Definition{Wordcount, Split, Count}}, func(ctx context.Context, app *stepwell.App) error {
		run, err := Wordcount.Start(ctx, app, path)
		if err != nil {
			return err
		}
		total, err := run.Result(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d words in %d chunks\n", path, total.Words, total.Chunks)
		return nil
	})
}
