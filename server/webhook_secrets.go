package server

// This file keeps the secrets that requests to webhooks are signed with.

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
)

// WebhookSecret verifies requests to webhooks, under the name that workflows use: see
// webhook.Signed. Several secrets may share a name while one replaces the other; each is accepted.
type WebhookSecret struct {
	Name   string
	secret string
}

// String returns the name.
func (s WebhookSecret) String() string { return s.Name }

// GoString returns the name.
func (s WebhookSecret) GoString() string { return fmt.Sprintf("server.WebhookSecret(%q)", s.Name) }

var webhookSecretName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// mostSecret bounds a secret, in bytes.
const mostSecret = 512

// NewWebhookSecret names a secret. Pass the secret as the provider shows it, with a prefix such as
// whsec_. It has 16 to 512 bytes.
func NewWebhookSecret(name, secret string) (WebhookSecret, error) {
	switch {
	case !webhookSecretName.MatchString(name):
		return WebhookSecret{}, invalid("webhook secret: the name does not have 1 to 64 letters, digits, '_', '.' and '-'")
	case len(secret) < leastSecret || len(secret) > mostSecret:
		return WebhookSecret{}, invalid("webhook secret %s: it has %d bytes: want %d to %d", name, len(secret), leastSecret, mostSecret)
	}
	if placeholder(secret) {
		return WebhookSecret{}, invalid("webhook secret %s: it is the placeholder of an example, which everybody knows", name)
	}
	return WebhookSecret{name, secret}, nil
}

// ParseWebhookSecrets parses secrets of the form name=secret, one a line. Lines that begin with #
// are comments. Errors show no secret.
func ParseWebhookSecrets(text string) ([]WebhookSecret, error) {
	var all []WebhookSecret
	var errs []error
	text = strings.TrimRight(text, "\r\n")
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, secret, found := strings.Cut(line, "=")
		if !found {
			errs = append(errs, invalid("webhook secret%s: want name=secret", place(text, n, 0, 1)))
			continue
		}
		s, err := NewWebhookSecret(strings.TrimSpace(name), strings.TrimSpace(secret))
		if err != nil {
			if in := place(text, n, 0, 1); in != "" {
				err = fmt.Errorf("%s: %w", strings.TrimPrefix(in, " on "), err)
			}
			errs = append(errs, err)
			continue
		}
		all = append(all, s)
	}
	return all, errors.Join(errs...)
}

func checkSecrets(all []WebhookSecret) error {
	var errs []error
	for i, s := range all {
		if s.secret == "" {
			errs = append(errs, fmt.Errorf("%w: Options.WebhookSecrets[%d] was not made by NewWebhookSecret or ParseWebhookSecrets", stepwell.ErrInvalid, i))
		}
	}
	return errors.Join(errs...)
}

// keyOf is the key that a secret stands for.
func keyOf(scheme webhook.Scheme, secret string) ([]byte, error) {
	if scheme != webhook.Standard {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, errors.New("it is not a secret of Standard Webhooks, which is whsec_ and base64")
	}
	return key, nil
}
