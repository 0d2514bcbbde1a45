package behaviour_test

// What people send to runs, with a deadline: as PostgreSQL's tests ask for it, in virtual time.

import "testing"

func TestHookWithADeadline(t *testing.T) {
	shared(t, "a hook with a deadline: nobody came, somebody came, and what is there")
}

func TestHookWithADeadlineIsNamedForPeople(t *testing.T) {
	shared(t, "a hook with a deadline is named for people")
}
