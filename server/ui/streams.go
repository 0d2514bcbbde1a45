package ui

// This file shows the streams of a run: their ends on the run's page, and each on a page of its own, from any chunk on and live.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// streamRow is a stream of a run.
type streamRow struct {
	Name   string
	Path   string
	Chunks int64
	Status status
	At     *moment
	Tail   string // the last that was written
}

const (
	mostStreams = 20
	tailChunks  = 40
	tailBytes   = 2000
)

func streamStatus(closed world.ChunkKind, over bool) status {
	switch closed {
	case world.ChunkClose:
		return status{"closed", good, "✓"}
	case world.ChunkError:
		return status{"closed with an error", bad, "✗"}
	}
	if over {
		return status{"ended with its run", quiet, "–"}
	}
	return status{"open", busy, "●"}
}

// streamTails lists the streams of a run, each with its end.
func (u *UI) streamTails(v *visit, run *stepwell.RunInfo) (list []streamRow, err error) {
	all, err := u.app.Streams(v.Context(), run.ID)
	if err != nil {
		return nil, err
	}
	for _, st := range all[:min(len(all), mostStreams)] {
		row := streamRow{Name: st.Name, Path: streamPath(run.ID, st.Name), Chunks: st.Next, Status: streamStatus(st.Closed, run.Status.Terminal()), At: v.moment(st.At)}
		if run.Sealed {
			row.Tail = encryptedText(run.Encryption)
			list = append(list, row)
			continue
		}
		page, err := u.world.Chunks(v.Context(), run.ID, st.Name, world.ChunkQuery{From: st.Next - tailChunks, Limit: tailChunks})
		switch {
		case err == nil:
			row.Tail = tailOf(page.Chunks)
		case errors.Is(err, world.ErrCorrupt): // a damaged stream is no reason not to show its run
			row.Tail = visible(err.Error())
		default:
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// tailOf is the end of what chunks say.
func tailOf(chunks []world.Chunk) string {
	var b strings.Builder
	for i := range chunks {
		b.WriteString(chunkText(&chunks[i]))
	}
	text := b.String()
	if len(text) > tailBytes {
		text = "…" + strings.ToValidUTF8(text[len(text)-tailBytes:], "")
	}
	return visible(text)
}

// chunkText is what a chunk says: strings as their text, all else as JSON on a line, marks in words.
func chunkText(c *world.Chunk) string {
	switch c.Kind {
	case world.ChunkData:
		return valueText(c.Value)
	case world.ChunkReset:
		return "\n[taken back: what was written from chunk " + strconv.FormatInt(*c.From, 10) + " on is void]\n"
	case world.ChunkError:
		if c.Error != nil {
			return "\n[error: " + c.Error.Message + "]\n"
		}
	}
	return ""
}

// trimmedText says, at the head of a page whose first chunks are gone, where it begins; 0: nothing is gone.
func trimmedText(first int64) string {
	if first == 0 {
		return ""
	}
	return "[what was before chunk " + strconv.FormatInt(first, 10) + " is gone with its segments]\n"
}

func valueText(b []byte) string {
	var said string
	if len(b) > 0 && b[0] == '"' && json.Unmarshal(b, &said) == nil {
		return said
	}
	return string(b) + "\n"
}

// streamView is the page of a stream.
type streamView struct {
	Run, Workflow, Name string
	Back                string
	Text                string
	From, Next          int64
	Earlier, Later      string
	Status              status
	Live                string // where to follow it; "": nothing more comes
	Size                string
}

const streamChunks = 1000

func (u *UI) stream(v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	name := v.PathValue("stream")
	if err := world.CheckName("stream name", name); err != nil {
		return err
	}
	all, err := u.world.StreamsOf(v.Context(), info.ID)
	if err != nil {
		return err
	}
	if info.Sealed {
		return &world.KeyError{Run: info.ID, Key: info.Encryption}
	}
	p := &streamView{Run: info.ID, Workflow: info.Workflow, Name: name, Back: runPath(info.ID)}
	found := false
	for _, st := range all {
		if st.Name == name {
			p.Next, p.Status, found = st.Next, streamStatus(st.Closed, info.Status.Terminal()), true
		}
	}
	if !found {
		return fmt.Errorf("stream %q of run %s: %w", name, info.ID, world.ErrNotFound)
	}
	p.From = max(p.Next-streamChunks, 0)
	if n, err := strconv.ParseInt(v.URL.Query().Get("from"), 10, 64); err == nil && n >= 0 {
		p.From = n
	}
	page, err := u.world.Chunks(v.Context(), info.ID, name, world.ChunkQuery{From: p.From, Limit: streamChunks})
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(trimmedText(page.First))
	for i := range page.Chunks {
		b.WriteString(chunkText(&page.Chunks[i]))
	}
	p.Text, p.Size = visible(b.String()), human.Size(b.Len())
	at := streamPath(info.ID, name)
	if p.From > 0 && page.First == 0 {
		p.Earlier = at + "?from=" + strconv.FormatInt(max(p.From-streamChunks, 0), 10)
	}
	closed := len(page.Chunks) > 0 && page.Chunks[len(page.Chunks)-1].Kind.Closes()
	switch {
	case page.More:
		p.Later = at + "?from=" + strconv.FormatInt(page.Next, 10)
	case !page.Over && !closed:
		p.Live = at + "/live?from=" + strconv.FormatInt(page.Next, 10)
	}
	v.draw(http.StatusOK, "stream", name, p)
	return nil
}

// streamLive follows a stream: each message is a piece of text.
func (u *UI) streamLive(v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	if info.Sealed {
		return &world.KeyError{Run: info.ID, Key: info.Encryption}
	}
	name := v.PathValue("stream")
	if err := world.CheckName("stream name", name); err != nil {
		return err
	}
	from, _ := strconv.ParseInt(v.URL.Query().Get("from"), 10, 64)
	if last := v.Header.Get("Last-Event-ID"); last != "" {
		if n, err := strconv.ParseInt(last, 10, 64); err == nil {
			from = n + 1
		}
	}
	l := v.live()
	return l.follow(func() error {
		return u.host.WatchStreams(v.Context(), info.ID, func() (bool, error) {
			return u.chunksLive(v, l, info.ID, name, &from)
		}, l.keepalive)
	})
}

// chunksLive sends what a stream has from a chunk on; done where nothing more comes.
func (u *UI) chunksLive(v *visit, l *live, run, name string, from *int64) (done bool, err error) {
	for {
		page, err := u.world.Chunks(v.Context(), run, name, world.ChunkQuery{From: *from, Limit: 200})
		if err != nil {
			return false, err
		}
		var b strings.Builder
		b.WriteString(trimmedText(page.First))
		closed := false
		for i := range page.Chunks {
			b.WriteString(chunkText(&page.Chunks[i]))
			closed = closed || page.Chunks[i].Kind.Closes()
		}
		*from = max(page.Next, *from)
		if b.Len() > 0 {
			if err := l.say("text", strconv.FormatInt(*from-1, 10), visible(b.String())); err != nil {
				return false, err
			}
		}
		if closed || page.Over && !page.More {
			return true, l.say("end", "", "")
		}
		if !page.More {
			return false, nil
		}
	}
}
