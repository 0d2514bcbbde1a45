package cli

// This file reads the settings of push delivery.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stepwell/stepwell/server"
)

// words are what commas and spaces divide.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func (c *serverConfig) setPush(text string) error {
	c.options.Push.Endpoints = words(text)
	var errs []error
	for _, e := range c.options.Push.Endpoints {
		errs = append(errs, server.CheckPushEndpoint(e))
	}
	return errors.Join(errs...)
}

func (c *serverConfig) addPushSecrets(text string) error {
	secrets, err := server.ParsePushSecrets(text)
	c.options.Push.Secrets = append(c.options.Push.Secrets, secrets...)
	return err
}

func (c *serverConfig) readPushSecrets(path string) error {
	if path == "" {
		return nil
	}
	text, err := readBounded(path)
	if err != nil {
		return err
	}
	before := len(c.options.Push.Secrets)
	if err := c.addPushSecrets(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(c.options.Push.Secrets) == before {
		return fmt.Errorf("%s has no secrets", path)
	}
	return nil
}

// checkPush refuses what the settings together do not mean.
func (c *serverConfig) checkPush() error {
	if len(c.options.Push.Endpoints) == 0 && len(c.options.Push.Secrets) > 0 {
		return errors.New("--push-secret: there is no endpoint to push to: name one with --push")
	}
	return nil
}
