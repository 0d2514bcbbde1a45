package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Item is an event of a run's log.
type Item struct {
	ID   string          // Events continues after it
	Kind string          // type of the event
	Data json.RawMessage // the event
}

// Chunk is a chunk of a stream.
type Chunk struct {
	Index   int64           `json:"index"`   // to continue later, read from Index + 1
	Step    string          `json:"step"`    // ID of the step that wrote it; "": workflow code
	Attempt int             `json:"attempt"` // attempt of that step
	Time    time.Time       `json:"time"`    // when it was stored
	Value   json.RawMessage `json:"value"`
	// Reset means that chunks of earlier attempts of Step, from index From on, are void. There is
	// no Value.
	Reset bool  `json:"reset"`
	From  int64 `json:"from"`
	// Trimmed means that chunks before Index were deleted.
	Trimmed bool `json:"trimmed"`
}

// Events follows the log of a run after an event ("": from its beginning) until the run is over.
func (c *Client) Events(ctx context.Context, run, after string) iter.Seq2[Item, error] {
	return c.follow(ctx, "/v1/runs/"+url.PathEscape(run)+"/events", nil, after)
}

// Stream follows a stream of a run from a chunk, whose index is 0 or more, until the stream is
// closed or the run is over.
func (c *Client) Stream(ctx context.Context, run, stream string, from int64) iter.Seq2[Chunk, error] {
	query := url.Values{"from": {strconv.FormatInt(from, 10)}}
	items := c.follow(ctx, "/v1/runs/"+url.PathEscape(run)+"/streams/"+url.PathEscape(stream), query, "")
	return func(yield func(Chunk, error) bool) {
		for item, err := range items {
			var chunk Chunk
			if err == nil {
				err = json.Unmarshal(item.Data, &chunk)
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// idle is the longest silence of a server that is followed: it sends a comment every 15 s.
const idle = time.Minute

// follow reads an event stream to its last message. It goes on where a connection broke.
func (c *Client) follow(ctx context.Context, path string, query url.Values, after string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for {
			req := request{method: http.MethodGet, path: path, query: query, accept: "text/event-stream", last: after}
			over, got := false, false
			lost := false
			err := c.try(ctx, &req, true, func(resp *http.Response) error {
				if resp.StatusCode == http.StatusNoContent {
					over = true
					return nil
				}
				var err error
				over, err = readItems(resp.Body, func(item Item) bool {
					if item.ID != "" {
						after, got = item.ID, true
						req.last = after
					}
					return yield(item, nil)
				})
				if got && errors.Is(err, errLost) {
					return nil // a new try, with its own patience
				}
				return err
			}, &lost)
			if err != nil {
				yield(Item{}, err)
			}
			if err != nil || over {
				return
			}
		}
	}
}

// readItems reads messages until the last one, or until yield returns false. over: nothing follows.
func readItems(body io.ReadCloser, yield func(Item) bool) (over bool, err error) {
	silence := time.AfterFunc(idle, func() { _ = body.Close() }) // the read reports it
	defer silence.Stop()
	lines := bufio.NewReader(body)
	var item Item
	var data []string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return false, fmt.Errorf("%w: the stream was cut: %w", errLost, err)
		}
		silence.Reset(idle)
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			item.ID = value
		case "event":
			item.Kind = value
		case "data":
			data = append(data, value)
		}
		if line != "\n" || data == nil {
			continue
		}
		item.Data = json.RawMessage(strings.Join(data, "\n"))
		switch item.Kind {
		case "end":
			return true, nil
		case "error":
			return true, fmt.Errorf("%w: the stream ended: %s", world.ErrStorage, item.Data)
		}
		if !yield(item) {
			return true, nil
		}
		item, data = Item{}, nil
	}
}
