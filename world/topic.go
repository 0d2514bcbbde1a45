package world

// This file holds what topics are made of, and what of it can be refused without looking at anything.

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// PrefixPublication begins the ID of a publication.
const PrefixPublication = "publ"

// PublicationID returns the ID of the publication with a number in its store.
func PublicationID(at time.Time, number int64) string {
	return numberedID(PrefixPublication, at, number)
}

// PublicationNumber returns the number in a publication's ID; ok is false for other text.
func PublicationNumber(id string) (number int64, ok bool) { return numberIn(PrefixPublication, id) }

// Bounds of topics.
const (
	MaxTopic         = 256 // bytes of a topic or a pattern
	MaxTopicWords    = 16
	MaxSubscriptions = 10_000
	MaxTemplate      = 1_000          // bytes of a template
	MaxMatch         = 16 << 10       // bytes of a subscription's match
	MaxEndpoint      = 2_048          // bytes of an endpoint's URL
	MaxSince         = 24 * time.Hour // how far a wait can look back
)

// KeepPublications is how long publications are kept at least: for waits that look back, for
// repeats of a delivery ID, and for people.
const KeepPublications = MaxSince

// Publication is an immutable publication under a topic.
type Publication struct {
	// "publ_" and a ULID of its time and number
	ID string `json:"id,omitzero"`
	// words of A-Z a-z 0-9 _ - separated by dots
	Topic string `json:"topic"`
	// its publisher, for order: see [Subscription.Ordered]; "": none
	Source string `json:"source,omitzero"`
	// JSON
	Payload json.RawMessage   `json:"payload,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`

	// ID of the key that encrypts the payload; "": plain
	Encrypted string `json:"sealed,omitzero"`

	// it is not delivered before
	Delay time.Duration `json:"delay,omitzero"`
	// Dedupe is its delivery ID. The same ID under the same topic within [KeepPublications] is the
	// same publication. "": none.
	Dedupe string `json:"dedupe,omitzero"`

	// Fields that are set on reading: At is when it was published.
	At time.Time `json:"at,omitzero"`
	// when it is delivered
	Due time.Time `json:"due,omitzero"`
	// it was delivered
	Spread bool `json:"spread,omitzero"`
	// why it was set aside, and nobody gets it; "": it was not
	Error string `json:"error,omitzero"`
	// why its payload is unreadable; "": readable
	Damage string `json:"damage,omitzero"`
}

// Subscription delivers publications to a target: exactly one of Queue, Workflow and Endpoint.
type Subscription struct {
	Name string `json:"name"`
	// a topic in which a word may be * (any one word) or # (any number, also none)
	Pattern string `json:"pattern"`
	// Match: only payloads that contain this: see [Contains].
	Match json.RawMessage `json:"match,omitempty"`
	// Ordered delivers what one source publishes under one topic one at a time, in order: topic and
	// source are the message's group.
	Ordered bool `json:"ordered,omitempty"`
	// Revision is the version of the subscription. A lower revision than the stored one is refused,
	// so an older deploy does not undo a change.
	Revision int `json:"revision,omitempty"`

	Queue    string       `json:"queue,omitempty"`    // a message is sent to this queue
	Workflow *StartTarget `json:"workflow,omitempty"` // a run is started
	Endpoint *PostTarget  `json:"endpoint,omitempty"` // it is posted to a URL
	Made     Provenance   `json:"made,omitzero"`

	Damage string `json:"-"` // why its row is unreadable, and it gets nothing; "": readable
}

// Provenance says who made something, and when.
type Provenance struct {
	By string    `json:"by,omitempty"` // "code", or the person who asked for it
	At time.Time `json:"at,omitzero"`
}

// StartTarget says which run to start. A template is text with {payload.a.b}, {topic}, {id} and
// {header.name}.
type StartTarget struct {
	Name       string            `json:"name"`                 // name of the workflow
	Version    int               `json:"version,omitempty"`    // 0: the highest that a live worker has
	Key        string            `json:"key,omitempty"`        // template of the idempotency key; "": none
	Attributes map[string]string `json:"attributes,omitempty"` // templates
}

// PostTarget says where to post publications.
type PostTarget struct {
	URL string `json:"url"`
	// private addresses are allowed, if the server allows them
	Private bool `json:"private,omitempty"`
	// GiveUp is how long the endpoint is retried before the delivery becomes a dead letter. 0: 3
	// days.
	GiveUp time.Duration `json:"giveUp,omitempty"`
	// Secrets sign requests, the newest first: see [Subscription.Follow].
	Secrets []Secret `json:"secrets,omitempty"`
}

// Secret signs requests, as Standard Webhooks defines: whsec_ and base64. Printed, it shows
// nothing.
type Secret string

// String hides the secret.
func (Secret) String() string { return "(secret)" }

// GoString hides the secret.
func (Secret) GoString() string { return "(secret)" }

// encryptedSecret begins one that is encrypted: behind it are the ID of its key and what was made of it.
const encryptedSecret = "sealed:"

// EncryptedSecret returns a secret as stores keep it, encrypted with the key of an ID.
func EncryptedSecret(key, text string) Secret { return Secret(encryptedSecret + key + ":" + text) }

// Encrypted returns the ID of the key that encrypts a secret, and its ciphertext; "": it is plain.
func (s Secret) Encrypted() (key, text string) {
	if rest, ok := strings.CutPrefix(string(s), encryptedSecret); ok {
		key, text, _ = strings.Cut(rest, ":")
	}
	return key, text
}

// mostSecrets is how many secrets sign what is posted to one endpoint.
const mostSecrets = 2

// Follow completes a subscription from the stored one with the same name: an endpoint without
// secrets gets the stored ones. A new secret precedes the newest stored one, which signs too until
// the next change.
func (s *Subscription) Follow(before *Subscription) {
	if s.Endpoint == nil || before == nil || before.Endpoint == nil {
		return
	}
	mine, old := s.Endpoint.Secrets, before.Endpoint.Secrets
	switch {
	case len(mine) == 0 || len(old) > 0 && mine[0] == old[0]:
		mine = old
	case len(mine) < mostSecrets && len(old) > 0:
		mine = append(mine[:1:1], old[0])
	}
	endpoint := *s.Endpoint
	endpoint.Secrets = mine
	s.Endpoint = &endpoint
}

// OwnQueue returns the name of a subscription's own queue, which it has unless it names one of the
// program's.
func (s *Subscription) OwnQueue() string {
	if s.Queue != "" {
		return s.Queue
	}
	return SubscriptionQueue + s.Name
}

// SubscriptionQueue begins the name of a subscription's own queue.
const SubscriptionQueue = "subscription."

// CheckTopic returns [ErrInvalid] for an invalid topic.
func CheckTopic(topic string) error { return checkTopic("topic", topic, false) }

// CheckPattern returns [ErrInvalid] for an invalid pattern.
func CheckPattern(pattern string) error { return checkTopic("pattern", pattern, true) }

func checkTopic(what, s string, wild bool) error {
	words := strings.Split(s, ".")
	if s == "" || len(s) > MaxTopic || len(words) > MaxTopicWords {
		return fmt.Errorf("%w: %s %.300q: want 1 to %d words with dots between, at most %d bytes", ErrInvalid, what, s, MaxTopicWords, MaxTopic)
	}
	for _, w := range words {
		switch {
		case wild && (w == "*" || w == "#"):
		case w == "":
			return fmt.Errorf("%w: %s %q: a word is empty", ErrInvalid, what, s)
		case strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "":
			hint := ""
			if wild {
				hint = ", or be * (any one word) or # (any number of words)"
			}
			return fmt.Errorf("%w: %s %q: the word %q: words are of A-Z a-z 0-9 _ -%s", ErrInvalid, what, s, w, hint)
		}
	}
	return nil
}

// Fits reports whether a pattern matches a topic.
func Fits(pattern, topic string) bool {
	if !strings.ContainsAny(pattern, "*#") {
		return pattern == topic
	}
	return fits(strings.Split(pattern, "."), strings.Split(topic, "."))
}

// fits looks at each word of the pattern once, and behind a # at each of the topic: of the last # alone, as what an
// earlier one could leave to it, it can have itself.
func fits(pattern, topic []string) bool {
	p, t := 0, 0
	many, from := -1, 0 // the last #, and what it has left so far
	for t < len(topic) {
		switch {
		case p < len(pattern) && pattern[p] == "#":
			many, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == "*" || pattern[p] == topic[t]):
			p, t = p+1, t+1
		case many >= 0:
			from++
			p, t = many+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "#" {
		p++
	}
	return p == len(pattern)
}

// CheckPublications returns [ErrInvalid] or [ErrTooLarge] for publications that no store accepts.
func CheckPublications(all []Publication) error {
	as, dedupes := make([]Message, len(all)), make(map[[2]string]bool)
	for i := range all {
		p := &all[i]
		var err error
		if as[i], err = p.check(i); err != nil {
			return err
		}
		if id := [2]string{p.Topic, p.Dedupe}; p.Dedupe != "" {
			if dedupes[id] {
				return fmt.Errorf("%w: publication %d to %s: another one in the same call has the delivery ID %.80q", ErrInvalid, i, p.Topic, p.Dedupe)
			}
			dedupes[id] = true
		}
	}
	return CheckMessages(as)
}

// check refuses what cannot be published, and tells what a message for it would be at most: who looks at that looks at
// the rest.
func (p *Publication) check(i int) (as Message, err error) {
	if err := CheckTopic(p.Topic); err != nil {
		return as, fmt.Errorf("publication %d: %w", i, err)
	}
	for what, name := range map[string]string{"source": p.Source, "delivery ID": p.Dedupe} {
		if name == "" {
			continue
		}
		if err := CheckName(what, name); err != nil {
			return as, fmt.Errorf("publication %d to %s: %w", i, p.Topic, err)
		}
	}
	full := *p // with all that its messages have: no message is too large
	full.ID, full.At = PublicationID(MaxTime, 1), MaxTime
	as = full.Message("publications", "")
	as.Delay = p.Delay
	return as, nil
}

// checkPublished refuses publications that no commit can bring, and tells how many bytes they have.
func checkPublished(c *Commit) (bytes int, err error) {
	if c.Worker == "" {
		return 0, fmt.Errorf("%w: run %s: a commit by nobody publishes", ErrInvalid, c.Run)
	}
	for i := range c.Published {
		p := &c.Published[i]
		as, err := p.check(i)
		if err != nil {
			return bytes, fmt.Errorf("run %s: %w", c.Run, err)
		}
		if err := checkMessage(&as); err != nil {
			return bytes, fmt.Errorf("run %s: publication %d to %s: %w", c.Run, i, p.Topic, err)
		}
		if p.Dedupe != "" {
			return bytes, fmt.Errorf("%w: run %s: publication %d to %s: a commit publishes each item once, so it cannot have a delivery ID", ErrInvalid, c.Run, i, p.Topic)
		}
		bytes += encryptedBytes(len(p.Payload), p.Encrypted) + len(p.Topic) + len(p.Source)
		for k, v := range p.Headers {
			bytes += len(k) + len(v)
		}
	}
	return bytes, nil
}

// Headers of a message that carries a publication.
const (
	HeaderTopic       = "stepwell-topic"
	HeaderPublication = "stepwell-publication"
	HeaderPublished   = "stepwell-published" // its time, RFC 3339
)

// Message returns the message that carries a publication to a queue.
func (p *Publication) Message(queue, group string) Message {
	headers := make(map[string]string, len(p.Headers)+3)
	for k, v := range p.Headers {
		headers[k] = v
	}
	if p.ID != "" {
		headers[HeaderTopic], headers[HeaderPublication] = p.Topic, p.ID
		headers[HeaderPublished] = p.At.UTC().Format(time.RFC3339Nano)
	}
	return Message{Queue: queue, Group: group, Payload: p.Payload, Headers: headers, Encrypted: p.Encrypted}
}

// CheckSubscription returns [ErrInvalid] for a subscription that no store keeps.
func CheckSubscription(s *Subscription) error {
	if err := CheckWorkflowName(s.Name); err != nil || len(s.Name)+len(SubscriptionQueue) > 128 {
		return fmt.Errorf("%w: subscription name %.140q: want 1 to %d of A-Z a-z 0-9 _ . -", ErrInvalid, s.Name, 128-len(SubscriptionQueue))
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("subscription %s: %w", s.Name, err)
	}
	return nil
}

func (s *Subscription) check() error {
	if err := CheckPattern(s.Pattern); err != nil {
		return err
	}
	switch {
	case len(s.Match) > MaxMatch:
		return fmt.Errorf("%w: the match has %d bytes: want %d at most", ErrInvalid, len(s.Match), MaxMatch)
	case len(s.Match) > 0 && !json.Valid(s.Match):
		return fmt.Errorf("%w: the match is not JSON", ErrInvalid)
	}
	if err := s.Made.check(); err != nil {
		return err
	}
	if s.Revision < 0 {
		return fmt.Errorf("%w: revision %d: want 0 or more", ErrInvalid, s.Revision)
	}
	targets := 0
	if s.Queue != "" {
		targets++
		if err := CheckQueueName(s.Queue); err != nil {
			return err
		}
	}
	if t := s.Workflow; t != nil {
		targets++
		if err := t.check(); err != nil {
			return err
		}
	}
	if t := s.Endpoint; t != nil {
		targets++
		if err := t.check(); err != nil {
			return err
		}
	}
	if targets != 1 {
		return fmt.Errorf("%w: it has %d targets: want one queue, workflow or endpoint", ErrInvalid, targets)
	}
	return nil
}

func (t *StartTarget) check() error {
	if err := cmp.Or(CheckWorkflowName(t.Name), CheckStart(t.Name)); err != nil {
		return err
	}
	if t.Version < 0 {
		return fmt.Errorf("%w: version %d: want 0 or more", ErrInvalid, t.Version)
	}
	if err := CheckTemplate(t.Key); err != nil {
		return fmt.Errorf("the key: %w", err)
	}
	if strings.HasPrefix(t.Key, RetryKey("")) {
		return fmt.Errorf("%w: the key %.80q: keys that begin with %q are reserved for runs that replace others", ErrInvalid, t.Key, RetryKey(""))
	}
	if len(t.Attributes) > MaxAttributes {
		return fmt.Errorf("%w: %d attributes: a run may have %d", ErrInvalid, len(t.Attributes), MaxAttributes)
	}
	for name, template := range t.Attributes {
		if err := CheckName("attribute", name); err != nil {
			return err
		}
		if err := CheckTemplate(template); err != nil {
			return fmt.Errorf("the attribute %s: %w", name, err)
		}
	}
	return nil
}

func (t *PostTarget) check() error {
	u, err := url.Parse(t.URL)
	switch {
	case len(t.URL) > MaxEndpoint:
		return fmt.Errorf("%w: an endpoint's URL of %d bytes: want %d at most", ErrInvalid, len(t.URL), MaxEndpoint)
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Fragment != "":
		return fmt.Errorf("%w: endpoint %.200q: want an http or https URL with a host and no fragment", ErrInvalid, t.URL)
	case u.User != nil:
		return fmt.Errorf("%w: endpoint: it contains a user or a password: leave it out, posts are signed instead", ErrInvalid)
	case t.GiveUp < 0 || t.GiveUp > 30*24*time.Hour:
		return fmt.Errorf("%w: it gives up after %s: want 0 to 720h", ErrInvalid, t.GiveUp)
	case len(t.Secrets) > mostSecrets:
		return fmt.Errorf("%w: endpoint: %d secrets: want %d at most", ErrInvalid, len(t.Secrets), mostSecrets)
	}
	for _, s := range t.Secrets {
		if key, _ := s.Encrypted(); key != "" {
			continue
		}
		if _, err := s.Key(); err != nil {
			return err
		}
	}
	return nil
}

// Key returns the decoded bytes of a secret.
func (s Secret) Key() ([]byte, error) {
	text, ok := strings.CutPrefix(string(s), "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, fmt.Errorf("%w: the secret of an endpoint is whsec_ and 24 to 64 bytes in base64", ErrInvalid)
	}
	return key, nil
}
