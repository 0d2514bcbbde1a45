package cli

// Workflows that are held.

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world/sqlite"
)

func TestHoldWorkflows(t *testing.T) { onPlaces(t, sqlite.Options{}, nil, walkHolds) }

func walkHolds(s *prompt) {
	s.says("held charge", "workflows", "hold", "charge", "--note", "the bank is down")
	s.says("the bank is down", "workflows")
	s.says(`"held":{"workflow":"charge"`, "workflows", "--json")
	s.says("c-1", "runs", "start", "charge", "7", "--id", "c-1")
	s.says("its workflow is held", "runs", "show", "c-1")
	if code, _, errs := s.call.do(s.Context(), append([]string{"runs", "start", "charge", "7", "--id", "c-3", "--priority", "4"}, s.where...)...); code != 0 || !strings.Contains(errs, "workflow charge is held: run c-3") {
		s.Errorf("a start of what is held says %s", errs)
	}
	s.says("cancel", "runs", "cancel", "c-3", "--force")
	s.says("release:  stepwell workflows release charge", "runs", "show", "c-1")
	s.says("ship-1", "runs", "start", "ship", "7", "--id", "ship-1")
	s.says("c-2", "runs", "start", "charge", "7", "--id", "c-2", "--start-ttl", "5m")
	s.says("it is cancelled", "runs", "show", "c-2")
	s.says("start TTL 5 m", "runs", "show", "c-2")
	list := s.says(": the bank is down; since ", "runs", "list", "--status", "held")
	for line, want := range map[string]int{"c-1  ": 1, "c-2  ": 1, "  held  ": 2, "ship": 0} {
		if got := strings.Count(list, line); got != want {
			s.Errorf("%d of %q are listed, want %d:\n%s", got, line, want, list)
		}
	}
	if list := s.says("ship-1", "runs", "list", "--status", "queued"); strings.Contains(list, "c-1") {
		s.Errorf("what is held is queued: %s", list)
	}
	s.says(`"result":"released","workflow":"charge"`, "workflows", "release", "charge", "--json")
	s.says("no worker", "runs", "show", "c-1")
	if list := s.says("", "runs", "list", "--status", "held"); list != "" {
		s.Errorf("held when they were released: %s", list)
	}
}
