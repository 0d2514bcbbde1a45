package world

import "testing"

func TestWoken(t *testing.T) {
	for want, w := range map[string]Woken{
		"nothing": {}, "1 sleep": {Sleeps: 1}, "2 retry delays and 1 start delay": {Retries: 2, Starts: 1}, "1 retry delay and 3 sleeps": {Retries: 1, Sleeps: 3},
	} {
		if got := w.String(); got != want || w.Total() != w.Retries+w.Starts+w.Sleeps {
			t.Errorf("got %q, %d in all; want %q", got, w.Total(), want)
		}
	}
}
