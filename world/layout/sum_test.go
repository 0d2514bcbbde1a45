package layout

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestSums: each bit of a row counts, and so does the place of the row.
func TestSums(t *testing.T) {
	created := time.UnixMicro(1_700_000_000_000_000).UTC()
	events := []world.Event{{Type: world.SignalReceived, Time: created, Name: "sum", Payload: json.RawMessage("45")}}
	head, body, err := AppendRow(nil, nil, [16]byte{1}, "b", created, events)
	if err != nil {
		t.Fatal(err)
	}
	sum := RowSum("r", 5, world.LogFormat, head, body)
	read := func(run string, first int64, format int, head, body []byte) error {
		_, _, _, err := ReadRow(run, created, first, format, string(head), body, sum)
		return err
	}
	if err := read("r", 5, world.LogFormat, head, body); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{head, body} {
		for i := range 8 * len(b) {
			b[i/8] ^= 1 << (i % 8)
			if err := read("r", 5, world.LogFormat, head, body); !errors.Is(err, world.ErrCorrupt) {
				t.Fatalf("bit %d: got %v, want %v", i, err, world.ErrCorrupt)
			}
			b[i/8] ^= 1 << (i % 8)
		}
	}
	for what, err := range map[string]error{
		"another run": read("s", 5, world.LogFormat, head, body), "another number": read("r", 6, world.LogFormat, head, body), "another format": read("r", 5, 7, head, body),
	} {
		if c, ok := errors.AsType[*world.CorruptError](err); !ok || c.Seq < 5 || c.Seq > 6 {
			t.Errorf("%s: got %v, want a corrupt log", what, err)
		}
	}
	if _, _, _, err := ReadRow("r", created, 5, world.LogFormat, strings.Replace(string(head), "sum", "sun", 1), body, Sum{}); err != nil {
		t.Errorf("a row of a release before: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() { RowSum("r", 5, world.LogFormat, head, body) }); n > 0 {
		t.Errorf("a sum allocates %v times", n)
	}
}

// FuzzRows reads what may lie in each kind of row: nothing panics, and what is not refused can be written as JSON.
func FuzzRows(f *testing.F) {
	f.Add(`{"c":"AAAAAAAAAAAAAAAAAAAAAA","e":[{"y":"signal_received","n":"a","o":0,"l":2}]}`, []byte("45"), int64(1), 1, "data")
	f.Add(`{"c":"","e":[]}`, []byte{0x80}, int64(-1), -1, "reset")
	f.Add(`{"code":"PANIC"}`, []byte{1, '1'}, int64(1<<62), 1<<30, "close")
	f.Add("{\"", []byte(nil), int64(0), 0, "trim")
	f.Fuzz(func(t *testing.T, text string, body []byte, number int64, n int, kind string) {
		shown := func(v any) {
			if _, err := json.Marshal(v); err != nil && json.Valid(body) {
				t.Errorf("%+v as JSON: %v", v, err)
			}
		}
		at := world.FromMicro(number)
		_, _, _, _ = ReadRow("r", at, number, n, text, body, SumOf(int32(number)))
		_, _, _, _ = ReadRow("r", at, number, world.LogFormat, text, body, Sum{})
		m := world.Mail{Run: "r"}
		ReadMail(&m, at, world.LogFormat, text, body, true)
		shown(world.ReadBlock([]byte(text)))
		r := world.Run{ID: "r", Status: world.Status(text), Output: body, CreatedAt: at, EndedAt: at}
		CheckRun(&r, text, text, text, Sum{}, Sum{})
		ReadBirth(&r, world.LogFormat, text, body, Sum{})
		shown(r)
		h := world.HookRow{Metadata: body}
		h.CheckMetadata()
		shown(h)
		var page world.ChunkPage
		row := world.ChunkRow{Index: number, N: n, Kind: world.ChunkKind(kind), Data: body}
		size := 0
		if CheckChunks("r", "s", &row, Sum{}) == nil {
			_, _ = page.Add(&row, 0, &world.ChunkQuery{}, &size)
		}
		CheckTask(&world.Task{Input: body}, SumOf(int32(number)))
		// What worlds keep as JSON in columns of their own: histories of tasks, classes and steps of workers, what came too late, errors, attributes.
		for _, v := range []any{&[]world.Event{}, &[]world.Class{}, &[]string{}, &world.Late{}, &world.Error{}, &map[string]json.RawMessage{}} {
			if json.Unmarshal([]byte(text), v) == nil {
				shown(v)
			}
		}
		tally := world.Tally{}
		_ = tally.Set(text, kind, int(number))
		shown(tally.List())
		r.CheckEnd(number, int64(n))
		r.CheckClass(&world.Class{}, text, number)
		// Heads of every kind of event that there is, whole and spoiled, are read and folded.
		for _, typ := range world.EventTypes {
			e := world.Event{Type: typ, Time: at, ID: kind, Name: text, Token: text, Payload: body, Attempt: n, Until: at, Birth: &world.Birth{Workflow: text, Version: n}}
			if typ != world.RunCreated {
				e.Birth = nil
			}
			head, rest, err := AppendRow(nil, nil, [16]byte{1}, text, at, []world.Event{e})
			if err != nil {
				continue
			}
			if len(head) > 0 && number > 0 {
				head[int(number%int64(len(head)))] ^= byte(n)
			}
			events, _, _, err := ReadRow("r", at, 1, world.LogFormat, string(head), rest, Sum{})
			state := world.State{ID: "r"}
			for i := range events {
				if err == nil {
					_, _ = state.Apply(&events[i], time.Time{})
				}
			}
		}
	})
}

func BenchmarkRowSum(b *testing.B) {
	head, body := make([]byte, 300), make([]byte, 150)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		RowSum("wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4", int64(i), world.LogFormat, head, body)
	}
}
