//go:build !unix

package pgtest

// This file says no: servers are started on Unix alone.

import (
	"errors"
	"runtime"
	"syscall"
	"time"
)

var errNoServers = errors.New("pgtest cannot start PostgreSQL on " + runtime.GOOS + ": set STEPWELL_TEST_POSTGRES to the URL of a server, or run these tests on Linux or macOS")

func folder(string) (string, error) { return "", errNoServers }

func handOver(string) error { return errNoServers }

type process struct{}

func startProcess(*guard, string, string, syscall.Signal, string, ...string) (*process, error) {
	return nil, errNoServers
}

func (*process) gone(time.Duration) bool                 { return true }
func (*process) wait() error                             { return errNoServers }
func (*process) end(syscall.Signal, time.Duration) error { return errNoServers }
func (*process) log() string                             { return "" }

type guard struct{}

func newGuard(string) (*guard, error) { return nil, errNoServers }

func (*guard) dismiss() error { return errNoServers }
