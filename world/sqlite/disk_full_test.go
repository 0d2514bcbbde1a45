package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell/internal/faultvfs"
	"github.com/stepwell/stepwell/world"
)

// A disk that was full heals by itself: heartbeats and what needs no room go on all the time, and as soon as there is room for one commit it is made. The freed room does not go to the log,
// which keeps its size.
func TestFullDiskHeals(t *testing.T) {
	t.Parallel()
	const size, payload = 512 << 10, 40 << 10
	const one = payload + 16<<10 // a commit, with its page in each index
	d := newDisk(t, seedOf(t))
	dir := t.TempDir()
	path := filepath.Join(dir, "runs.db")
	var limit atomic.Int64 // the writer asks for it, too
	d.Limit(limit.Add(6 << 20))
	o := on(d)
	o.CheckpointSize = size
	o.allocate = func(f *os.File, bytes int64) error {
		if faultvfs.Used(dir)+bytes > limit.Load() {
			return errors.New("no room")
		}
		return allocate(f, bytes)
	}
	w := openAt(t, path, o)
	log := &lines{}
	defer w.Report(slog.New(slog.NewTextHandler(log, nil)))()
	wk := join(t, w, 0, class1)
	l := map[string]int64{}
	created := func() error {
		run := fmt.Sprint("r", len(l))
		c := eager(run, "w", wk.ID)
		c.Events[0].Payload = fmt.Appendf(nil, `"%0*d"`, payload, len(l))
		_, err := w.Commit(t.Context(), c)
		if err == nil {
			l[run] = 2
		}
		return err
	}
	var err error
	for err == nil {
		err = created()
	}
	if !errors.Is(err, world.ErrStorage) || !strings.Contains(err.Error(), "full") {
		t.Fatalf("got error %v, want ErrStorage: full", err)
	}
	if got := logSize(path); got > truncateAt*size {
		t.Errorf("the log took %d bytes of the disk, want at most %d", got, truncateAt*size)
	}
	if used := int64(len(l) * payload); used < limit.Load()*6/10 {
		t.Errorf("%d bytes of payload on a disk of %d: it was full too soon", used, limit.Load())
	}
	for range 20 { // what makes nothing larger goes on, on the full disk
		if _, err := askFor(t.Context(), w, true, func(g *group) (int, error) {
			return 0, g.tx.exec(heartbeatWorker, g.workers.key(wk.ID), g.tx.now().UnixMicro())
		}); err != nil {
			t.Fatalf("a heartbeat on the full disk: %v", err)
		}
	}
	for i := range 10 {
		before := len(l)
		d.Limit(limit.Add(one))
		for range 3 { // an engine tries again
			if err = created(); err == nil {
				break
			}
		}
		if len(l) == before {
			t.Fatalf("room for one commit was freed %d times: got %v", i+1, err)
		}
	}
	if got := strings.Count(log.text(), "the disk is full"); got != 1 {
		t.Errorf("the log says %d times that the disk is full, want once", got)
	}
	if err := has(w, l); err != nil {
		t.Error(err)
	}
}
