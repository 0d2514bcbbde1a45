package world

// This file holds how waits that listen to what is published are found: by hashes of the values that their match names.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Listen makes a wait for an event also receive publications.
type Listen struct {
	Pattern string `json:"pattern"` // of the topics
	// Since: also publications from up to this long before the wait began.
	Since time.Duration `json:"since,omitempty"`
	Shape string        `json:"shape"` // of its match: see [Shape]
	Hash  int64         `json:"hash"`  // of the values that its match has at the shape's paths
}

// Shape is the common structure of the matches of many waits. Workflows have few shapes, because
// matches come from code.
type Shape struct {
	Pattern string
	Paths   [][]string // of scalars in the match, in order; none in arrays
	Key     string     // ID of the key for hashes; "": none

	// Sum hashes values. Nil: the key is missing.
	Sum func(values []byte) int64
}

// maxShape is how many bytes a shape may have: of a match with more paths the first ones count, and what is found is
// compared with all of it anyway.
const maxShape = 1_000

// NewListen describes a wait. key is the ID of the key that sum uses; "" and nil: none.
func NewListen(pattern string, since time.Duration, match json.RawMessage, key string, sum func([]byte) int64) *Listen {
	s := Shape{Pattern: pattern, Key: key, Sum: sum}
	if sum == nil {
		s.Sum = SumOpen
	}
	if v, ok := parse(match); ok {
		s.add(nil, v)
	}
	for len(s.Paths) > 0 && len(s.String()) > maxShape {
		s.Paths = s.Paths[:len(s.Paths)-1]
	}
	l := &Listen{Pattern: pattern, Since: since, Shape: s.String()}
	l.Hash, _ = s.Hash(match)
	return l
}

// add adds the paths of the scalars in a match.
func (s *Shape) add(path []string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s.add(append(slices.Clone(path), k), v[k])
		}
	case []any:
	default:
		if len(path) > 0 {
			s.Paths = append(s.Paths, path)
		}
	}
}

// String returns the shape as stores keep it.
func (s *Shape) String() string {
	b, _ := json.Marshal([]any{s.Pattern, s.Paths, s.Key}) // strings alone
	return string(b)
}

// ReadShape parses the text of String. The caller sets Sum if it has the key.
func ReadShape(text string) (s Shape, err error) {
	if err = json.Unmarshal([]byte(text), &[]any{&s.Pattern, &s.Paths, &s.Key}); err != nil {
		return s, fmt.Errorf("%w: the shape %.200q: %w", ErrCorrupt, text, err)
	}
	if s.Key == "" {
		s.Sum = SumOpen
	}
	return s, nil
}

// Hash returns the hash of a payload's values. ok is false if it lacks one of them, or the key is
// missing.
func (s *Shape) Hash(payload []byte) (hash int64, ok bool) {
	if s.Sum == nil {
		return 0, false
	}
	if len(s.Paths) == 0 {
		return s.Sum(nil), true
	}
	doc, ok := parse(payload)
	if !ok {
		return 0, false
	}
	var values []byte
	for _, path := range s.Paths {
		v := doc
		for _, k := range path {
			if v, ok = member(v, k); !ok {
				return 0, false
			}
		}
		text, ok := canonical(v)
		if !ok {
			return 0, false
		}
		values = binary.AppendUvarint(values, uint64(len(text)))
		values = append(values, text...)
	}
	return s.Sum(values), true
}

func member(v any, key string) (any, bool) {
	m, _ := v.(map[string]any)
	v, ok := m[key]
	return v, ok
}

// canonical is a text for a scalar that is the same for all that are equal, as [Contains] has it.
func canonical(v any) (text string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(v), true
	case string:
		return `"` + v, true
	case json.Number:
		return numberText(v.String()), true
	}
	return "", false
}

// SumOpen hashes values without a key.
func SumOpen(values []byte) int64 {
	sum := sha256.Sum256(values)
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// ListenDelivery returns the delivery ID under which a wait gets a publication, at most once.
func ListenDelivery(publication, wait string) string { return publication + "/" + wait }

// ListenMail returns the delivery of a publication to a wait.
func ListenMail(p *Publication, run, wait string) Delivery {
	return Delivery{Run: run, ID: ListenDelivery(p.ID, wait), Events: []Event{{
		Type: SignalReceived, ID: wait, Name: p.Topic, Payload: bytes.Clone(p.Payload), OccurredAt: p.At,
	}}}
}

// Listener is a wait that receives publications.
type Listener struct {
	// its place in the order of the list
	Place string `json:"place"`
	Run   string `json:"run"`
	// ID of the wait
	Wait  string `json:"wait"`
	Shape string `json:"shape"`
	Hash  int64  `json:"hash"`
	// earliest time of publications for it, except those after Last
	From time.Time `json:"from,omitzero"`
	// number of the last publication before it began
	Last int64 `json:"last,omitzero"`

	// Match is the match of a wait with Since, as its event has it; empty: everything.
	Match json.RawMessage `json:"match,omitzero"`
}

// Hears reports whether a publication went out after the wait began, or within its Since. It uses
// times and numbers: times fail if the database's clock was set back, and numbers fail for delayed
// publications.
func (l *Listener) Hears(p *Publication) bool {
	number, _ := PublicationNumber(p.ID)
	return number > l.Last || !p.Due.Before(l.From)
}

// ListenerQuery selects waits: those with one of these hashes, or those with Since that have not
// looked back yet.
type ListenerQuery struct {
	Any   []Hashed `json:"any,omitzero"`
	Back  bool     `json:"back,omitzero"`
	After string   `json:"after,omitzero"` // the place after which the page begins
	Limit int      `json:"limit"`          // 1 to MaxBatch
}

// Hashed is a hash of values of a shape.
type Hashed struct {
	Shape string `json:"shape"`
	Hash  int64  `json:"hash"`
}

// Check returns [ErrInvalid] for an invalid query, or else the run's key and the wait after which
// the page begins.
func (q *ListenerQuery) Check() (run int64, wait string, err error) {
	if q.Limit < 1 || q.Limit > MaxBatch {
		return 0, "", fmt.Errorf("%w: list %d waits that listen: want 1 to %d", ErrInvalid, q.Limit, MaxBatch)
	}
	if q.After == "" {
		return 0, "", nil
	}
	return ListenerAt(q.After)
}

// ListenerPlace returns the place of a wait of the run with a key.
func ListenerPlace(run int64, wait string) string { return strconv.FormatInt(run, 10) + "/" + wait }

// ListenerAt parses a place.
func ListenerAt(place string) (run int64, wait string, err error) {
	number, wait, ok := strings.Cut(place, "/")
	if run, err = strconv.ParseInt(number, 10, 64); err != nil || !ok {
		return 0, "", fmt.Errorf("%w: %.80q is not a position of a wait", ErrInvalid, place)
	}
	return run, wait, nil
}
