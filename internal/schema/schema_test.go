package schema_test

import (
	"testing"

	"github.com/stepwell/stepwell/internal/schematest"
)

func TestWhatIsMadeFits(t *testing.T) { schematest.WhatIsMadeFits(t, nil) }

func TestASchemaRefusesWhatTheTypeDoes(t *testing.T) { schematest.RefusesWhatTheTypeDoes(t, nil) }
