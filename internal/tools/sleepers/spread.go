package main

import "slices"

// spread is the median, the 99th percentile and the most of some measurements.
func spread(all []float64) []float64 {
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return []float64{all[len(all)/2], all[len(all)*99/100], all[len(all)-1]}
}
