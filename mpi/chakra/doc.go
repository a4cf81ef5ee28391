// Package chakra reads and writes Chakra execution traces, as PyTorch, NCCL's tools and
// ASTRA-sim exchange them: one file a rank, of nodes with dependencies.
package chakra
