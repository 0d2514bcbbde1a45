package sqlite

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

func TestParseLocks(t *testing.T) {
	t.Parallel()
	got := parseLocks([]byte(`1: POSIX  ADVISORY  READ 4711 08:01:12345 124 124
1: -> POSIX  ADVISORY  WRITE 5 08:01:12345 120 120
2: FLOCK  ADVISORY  WRITE 0 00:2a:77 0 EOF
3: OFDLCK ADVISORY  READ -1 00:2a:78 1073741826 1073742335
rubbish
4: POSIX ADVISORY READ x 08:01:1 1 1
`))
	want := []heldLock{{"POSIX", 4711, 12345, 124, 124}, {"FLOCK", 0, 77, 0, 1<<63 - 1}, {"OFDLCK", -1, 78, 1073741826, 1073742335}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The reader that holds the log is named by its process, in the log and by doctor.
func TestReaderIsNamed(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	w := open(t, Options{CheckpointSize: size})
	must(t, w, birthOf("r", "w"))
	log := &lines{}
	defer w.Report(slog.New(slog.NewTextHandler(log, nil)))()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), readVariable+"="+w.path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "reads\n" {
		t.Fatalf("got %q, %v from the reader", line, err)
	}
	grow(t, w, "a", 6*size)
	name := fmt.Sprintf("process %d (", cmd.Process.Pid)
	if !strings.Contains(log.text(), name) {
		t.Errorf("the log does not name the reader, %s…: %q", name, log.text())
	}
	all, err := world.Findings(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Check == "file" && (f.Health != world.HealthWarning || !strings.Contains(f.Found, name)) {
			t.Errorf("got %+v, want a warning that names %s…", f, name)
		}
	}
}
