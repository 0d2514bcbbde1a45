package main

// This file has the processes that the tests need: a server, a worker, and a door at which they have the server killed.

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// The secrets of the server's keys.
const (
	operatorKey = "0123456789abcdef0123456789abcdef"
	viewerKey   = "fedcba9876543210fedcba9876543210"
	workerKey   = "0123456789abcdef-works"
	stepsKey    = "0123456789abcdef-steps"
)

// serverKeys are all of them.
const serverKeys = "operator:ts:" + operatorKey + ",viewer:eyes:" + viewerKey + ",worker:go:" + workerKey +
	",steps?step=remote&step=brief&step=quiet:steps:" + stepsKey

// stage is a server that can be killed and started again, on its database and at its address, and a worker beside it.
type stage struct {
	program, db, data string
	at                string // host and port
	through           bool   // the worker works through the server: a SQLite file has one process with workers
	worker            *exec.Cmd
	door              *http.Server
	doorAt            string

	mu     sync.Mutex
	server *exec.Cmd
	down   sync.WaitGroup // servers that are killed and not started again yet
}

// freeAddress is one that nobody listens on just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (s *stage) env() []string {
	return []string{"STEPWELL_URL=http://" + s.at, "STEPWELL_API_KEY=operator:ts:" + operatorKey,
		"STEPWELL_TEST_VIEWER=" + viewerKey, "STEPWELL_TEST_STEPS=" + stepsKey, "STEPWELL_TEST_DOOR=http://" + s.doorAt, "NODE_OPTIONS="}
}

// start starts all three.
func (s *stage) start() error {
	var err error
	if s.at, err = freeAddress(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.doorAt = l.Addr().String()
	s.door = &http.Server{Handler: http.HandlerFunc(s.kill), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.door.Serve(l) }() // until close
	self, err := os.Executable()
	if err != nil {
		return errors.Join(err, s.door.Close())
	}
	if err := s.serve(); err != nil {
		return errors.Join(err, s.door.Close())
	}
	db := s.db
	if s.through {
		db = "http://" + workerKey + "@" + s.at
	}
	s.worker, err = s.begin("worker", self, "-worker", db)
	if err != nil {
		s.close()
	}
	return err
}

// begin starts a program whose output goes to a log.
func (s *stage) begin(name, program string, args ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(s.data, name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "STEPWELL_API_KEY="+serverKeys)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, cmd.Start()
}

// serve starts the server, and returns when it answers.
func (s *stage) serve() error {
	server, err := s.begin("server", s.program, "server", "--db", s.db, "--listen", s.at)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if res, err := http.Get("http://" + s.at + "/readyz"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return fmt.Errorf("the server did not begin: %s", s.logs())
}

// kill ends the server, with an interrupt if the request says so in how, and starts it again a moment later: as long as
// it says in down.
func (s *stage) kill(w http.ResponseWriter, r *http.Request) {
	down, err := time.ParseDuration(r.URL.Query().Get("down"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.down.Wait()
	s.mu.Lock()
	if r.URL.Query().Get("how") == "interrupt" {
		_ = s.server.Process.Signal(os.Interrupt)
		_ = s.server.Wait()
	}
	end(s.server)
	s.mu.Unlock()
	s.down.Go(func() {
		time.Sleep(down)
		if err := s.serve(); err != nil {
			fmt.Fprintln(os.Stderr, "clienttypescript:", err)
		}
	})
	w.WriteHeader(http.StatusNoContent)
}

func (s *stage) close() {
	_ = s.door.Close()
	s.down.Wait()
	end(s.server)
	if s.worker != nil {
		end(s.worker)
	}
}

// logs is what the server and the worker said.
func (s *stage) logs() string {
	server, _ := os.ReadFile(filepath.Join(s.data, "server.log"))
	worker, _ := os.ReadFile(filepath.Join(s.data, "worker.log"))
	return fmt.Sprintf("server: %s\nworker: %s", server, worker)
}

// end kills a process, with no time to say goodbye.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
