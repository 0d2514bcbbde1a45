package pgtest

import (
	"os/exec"
	"testing"
)

// TestProgram: what a program that is no test uses: a database of its own making, the server's process, and its programs.
func TestProgram(t *testing.T) {
	c := Shared(t)
	if !c.ours {
		t.Log("the server is not ours: its process and programs are not known")
		return
	}
	database, err := c.Create(t.Context(), "a program")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := c.PID()
	if err != nil {
		t.Fatal(err)
	}
	if got := value[string](t, connect(t, database), "select current_user"); got != "stepwell" || pid <= 1 {
		t.Errorf("connected as %q to process %d, want stepwell, and a process", got, pid)
	}
	psql, err := c.Program("psql")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(psql, database, "-Atc", "select 6 * 7").CombinedOutput(); string(out) != "42\n" || err != nil {
		t.Errorf("psql: got %q, %v, want 42", out, err)
	}
	if _, err := c.Program("no-such-program"); err == nil {
		t.Error("a program that does not exist was found")
	}
	if err := c.Drop(t.Context(), database); err != nil {
		t.Error(err)
	}
}
