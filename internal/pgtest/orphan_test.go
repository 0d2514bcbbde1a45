package pgtest

// This file holds what is left when a test binary is killed: nothing.

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// orphanEnv makes this binary one that starts a cluster, says where, and waits for its death.
const orphanEnv = "STEPWELL_TEST_ORPHAN"

func beOrphan() {
	c, err := create(Config{NoSync: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.dir, c.admin)
	<-time.After(time.Hour) // select {} would be a deadlock to a runtime without cgo
}

func TestKilledBinaryLeavesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), orphanEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	dir, admin, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		t.Fatalf("it said %q, %v", line, err)
	}
	connect(t, admin) // a client does not keep the server
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, as it should
	within(t, 30*time.Second, "the folder is removed", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", u.Host); err == nil {
		_ = conn.Close()
		t.Errorf("the server on %s is still there", u.Host)
	}
}
