package network

import "math"

// JainIndex is the fairness of shares (Jain, Chiu and Hawe 1984): the square
// of their sum over n times the sum of their squares. 1 if all are equal, k/n
// if k of them have everything; NaN if there is nothing to share.
func JainIndex(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Mean is the mean of some values; NaN of none.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}
