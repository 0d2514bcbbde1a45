package stepwell

// This file has what the environment of a process can set of a Config: one table of variables, and what each accepts.

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// setting is a variable that sets a field of Config where the program leaves it zero.
type setting struct {
	env, want string
	free      func(c *Config) bool               // the field is zero
	set       func(c *Config, value string) bool // false: the value makes no sense
}

// settings are all variables, and those that others know us by behind ours: the first one that is set counts. operating.md has the table.
var settings = []setting{
	field("STEPWELL_MAX_RUNS", "a whole number from 1 to 1048576", func(c *Config) *int { return &c.MaxRuns }, whole(1, 1<<20)),
	field("STEPWELL_MAX_STEPS", "a whole number from 1 to 1048576", func(c *Config) *int { return &c.MaxSteps }, whole(1, 1<<20)),
	field("STEPWELL_MAX_PAYLOAD", "a whole number of bytes from 1024 to 1048576", func(c *Config) *int { return &c.MaxPayload }, whole(1<<10, 1<<20)),
	field("STEPWELL_MAX_VALUE", "a whole number of bytes from 1024 to 1073741824", func(c *Config) *int { return &c.MaxValue }, whole(1<<10, 1<<30)),
	field("STEPWELL_MAX_RETENTION_DAYS", "a whole number from 1 to 36525", retention, days),
	field("WORKFLOWS_MAX_RETENTION_DAYS", "a whole number from 1 to 36525", retention, days),
	field("STEPWELL_SWEEP_INTERVAL", aSpan+", or off", sweeping, func(v string) (time.Duration, bool) {
		if v == "off" {
			return -1, true
		}
		return span(v)
	}),
	field("WORKFLOWS_SWEEPER_INTERVAL_MS", "a whole number of milliseconds, from 1", sweeping, func(v string) (time.Duration, bool) {
		ms, ok := whole(1, math.MaxInt32)(v)
		return time.Duration(ms) * time.Millisecond, ok
	}),
	field("STEPWELL_LEASE", aSpan, func(c *Config) *time.Duration { return &c.Lease }, span),
	field("STEPWELL_POLL", aSpan, func(c *Config) *time.Duration { return &c.Poll }, span),
	field("STEPWELL_DRAIN", aSpan, func(c *Config) *time.Duration { return &c.Drain }, span),
	field("STEPWELL_SLICE", "a duration of 1s or more, like 90s or 5m", func(c *Config) *time.Duration { return &c.Slice }, func(v string) (time.Duration, bool) {
		d, ok := span(v)
		return d, ok && d >= leastSlice
	}),
	field("STEPWELL_IDLE", aSpan, func(c *Config) *time.Duration { return &c.Idle }, span),
	field("STEPWELL_CANCEL_GRACE", aSpan, func(c *Config) *time.Duration { return &c.CancelGrace }, span),
	field("STEPWELL_CACHE_RUNS", "a whole number from 1, or off", func(c *Config) *int { return &c.CacheRuns }, wholeOrOff),
	field("STEPWELL_CACHE_BYTES", "a whole number from 1, or off", func(c *Config) *int { return &c.CacheBytes }, wholeOrOff),
	field("STEPWELL_STRICT", "true or false", func(c *Config) *bool { return &c.Strict }, func(v string) (bool, bool) {
		on, err := strconv.ParseBool(v)
		return on, err == nil
	}),
	{
		"STEPWELL_FAIL_ON", "PANIC, DIVERGED, or both separated by a comma",
		func(c *Config) bool { return c.FailOn == nil },
		func(c *Config, v string) bool {
			causes := strings.Split(v, ",")
			if checkFailOn("STEPWELL_FAIL_ON", causes) != nil {
				return false
			}
			c.FailOn = causes
			return true
		},
	},
	field("STEPWELL_FAIL_UNKNOWN", aSpan, func(c *Config) *time.Duration { return &c.FailUnknown }, span),
	field("STEPWELL_PUBLIC_URL", "http:// or https://, a host and perhaps a path", func(c *Config) *string { return &c.PublicURL }, func(v string) (string, bool) {
		return v, checkPublicURL(v) == nil
	}),
	field("STEPWELL_NAME", "a text", func(c *Config) *string { return &c.Name }, text),
	field("STEPWELL_BUILD", "a text", func(c *Config) *string { return &c.Build }, text),
}

// aSpan is what a setting that is a duration accepts.
const aSpan = "a duration above zero, like 90s, 5m or 2h"

func field[T comparable](env, want string, of func(*Config) *T, parse func(string) (T, bool)) setting {
	var zero T
	return setting{env, want, func(c *Config) bool { return *of(c) == zero }, func(c *Config, value string) bool {
		v, ok := parse(value)
		if ok {
			*of(c) = v
		}
		return ok
	}}
}

func retention(c *Config) *time.Duration { return &c.MaxRetention }

func sweeping(c *Config) *time.Duration { return &c.SweepInterval }

func text(v string) (string, bool) { return v, len(v) <= 256 && human.Visible(v) == v }

func span(v string) (time.Duration, bool) {
	d, err := human.ParseSpan(v)
	return d, err == nil && d > 0
}

func days(v string) (time.Duration, bool) {
	n, ok := whole(1, 36525)(v)
	return time.Duration(n) * 24 * time.Hour, ok
}

func whole(least, most int) func(v string) (int, bool) {
	return func(v string) (int, bool) {
		n, err := strconv.Atoi(v)
		return n, err == nil && n >= least && n <= most
	}
}

func wholeOrOff(v string) (int, bool) {
	if v == "off" {
		return -1, true
	}
	return whole(1, math.MaxInt32)(v)
}

// environment sets what the program left zero. All values that make no sense are refused at once, by name, also of fields that the program set.
func (c *Config) environment(getenv func(string) string) error {
	var errs []error
	for _, s := range settings {
		value := getenv(s.env)
		if value == "" {
			continue
		}
		into := c
		if !s.free(c) {
			into = &Config{} // it is looked at, and does not count
		}
		if !s.set(into, value) {
			errs = append(errs, fmt.Errorf("%w: %s is %.100q: want %s", ErrInvalid, s.env, value, s.want))
		}
	}
	ring, err := keyring.FromEnv(getenv)
	if c.Encryption == nil {
		c.Encryption = ring
	}
	return errors.Join(append(errs, err)...)
}

// checkPublicURL refuses what no webhook can be reached under.
func checkPublicURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("%w: Config.PublicURL is not a URL", ErrInvalid) // what is wrong with it may be a secret
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%w: Config.PublicURL is %.100q: want http:// or https://, and a host", ErrInvalid, world.ShownURL(text))
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("%w: Config.PublicURL is %.100q: want only scheme, host and path", ErrInvalid, world.ShownURL(text))
	}
	return nil
}
