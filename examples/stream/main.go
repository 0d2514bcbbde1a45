// Stream shows what a model says while it says it. The words go through a durable stream: the process that asks the model is killed
// half-way, another goes on behind the last word that was stored, and the reader, in a process of its own, misses nothing and sees
// nothing twice. The model here is a few lines of Go; a real one is one HTTP call with the answer so far.
//
//	go run ./examples/stream
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Answer is the workflow: it asks the model, and returns how many words there were.
var Answer = stepwell.Define("answer", func(ctx stepwell.Context, question string) (int, error) {
	return stepwell.Call(ctx, "ask-model", ask, question)
})

// ask writes each word to the stream as it comes. Another attempt lets the model go on behind what is there.
func ask(ctx context.Context, question string) (int, error) {
	words := stepwell.Stream[string](ctx, "words")
	said, err := words.Written() // by attempts before this one
	if err != nil {
		return 0, err
	}
	if err := words.Keep(len(said)); err != nil {
		return 0, err
	}
	for word := range model(question, said) {
		if err := words.Write(word); err != nil {
			return 0, err
		}
		said = append(said, word)
	}
	return len(said), words.Close()
}

// model stands for a large one: it yields the words that follow what it has said.
func model(_ string, said []string) func(yield func(string) bool) {
	answer := "A stream is durable while its step runs so who reads it sees every word once whoever dies"
	return func(yield func(string) bool) {
		for _, word := range strings.Fields(answer)[len(said):] {
			time.Sleep(50 * time.Millisecond) //lint:allow models take their time
			if !yield(word) {
				return
			}
		}
	}
}

// killAt is the word at which the first worker is killed.
const killAt = 4

var (
	db     = flag.String("db", "", "where runs are kept: sqlite:PATH or postgres://...; a file of its own, unless told")
	worker = flag.Bool("worker", false, "work on runs until killed")
)

func main() {
	flag.Parse()
	url := *db
	if url == "" {
		dir, err := os.MkdirTemp("", "stream")
		check(err)
		defer os.RemoveAll(dir)
		url = "sqlite:" + filepath.Join(dir, "runs.db")
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	w, err := stepwell.Open(ctx, url)
	check(err)
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Answer}})
	check(err)
	if *worker {
		check(app.Run(ctx))
		return
	}
	run, err := Answer.Start(ctx, app, "What is a stream?")
	check(err)
	first := begin(url)
	attempt := 0
	for word, err := range stepwell.ReadStream[string](ctx, app, run.ID(), "words", 0) {
		check(err)
		fmt.Println(word.Index, word.Value)
		if attempt = word.Attempt; word.Index == killAt {
			end(first)
			fmt.Println("its process was killed")
			defer end(begin(url))
		}
	}
	words, err := run.Result(ctx)
	check(err)
	fmt.Printf("%d words, the last from attempt %d\n", words, attempt)
}

// begin starts a worker as a process of its own.
func begin(url string) *exec.Cmd {
	program, err := os.Executable()
	check(err)
	cmd := exec.Command(program, "-worker", "-db", url)
	cmd.Stderr = os.Stderr
	check(cmd.Start())
	return cmd
}

// end kills it, with no time to say goodbye.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
