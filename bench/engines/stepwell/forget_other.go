//go:build !linux

package stepwell

// This file says what other systems than Linux cannot do here.

import "errors"

func forget(string) error {
	return errors.New("a file is dropped from the system's cache on Linux alone")
}
