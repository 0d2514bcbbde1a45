package lint

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestNoLargeFile finds build output that was committed by mistake: no source is that large.
func TestNoLargeFile(t *testing.T) {
	const most = 512 << 10
	out, err := exec.Command("git", "-C", "../..", "ls-tree", "-r", "--format=%(objectsize) %(path)", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		size, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(size); err != nil || n > most {
			t.Errorf("%s has %s bytes (%v), and may have %d", path, size, err, most)
		}
	}
}
