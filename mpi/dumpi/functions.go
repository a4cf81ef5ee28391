package dumpi

import "strings"

// functions are the traced functions by number: name, layout of the arguments in the file
// ("-": none), and "x" if weft has nothing to replay the call with. Later ones are not known.
//
//	i int32     h uint16 (communicators, datatypes, groups, windows, ...)     b uint8
//	q int64     I int32s     H uint16s     2 lists of int32s     T text     A texts
//	S statuses  r the root, an int32; if it is the first argument, k l K stand for i h I,
//	            otherwise for nothing
//
// Source: sst-dumpi (Sandia National Laboratories), dumpi/common, and the samples.
var functions = parseFunctions(`
Send ihiih; Recv ihiihS; Get_count Shi; Bsend ihiih; Ssend ihiih; Rsend ihiih
Buffer_attach i; Buffer_detach i; Isend ihiihi; Ibsend ihiihi; Issend ihiihi; Irsend ihiihi
Irecv ihiihi; Wait iS; Test iiS; Request_free i; Waitany iIiS; Testany iIiiS; Waitall iIS
Testall iIiS; Waitsome iIiIS; Testsome iIiIS; Iprobe iihiS; Probe iihS; Cancel i x
Test_cancelled Si; Send_init ihiihi; Bsend_init ihiihi; Ssend_init ihiihi; Rsend_init ihiihi
Recv_init ihiihi; Start i; Startall iI; Sendrecv ihiiihiihS; Sendrecv_replace ihiiiihS
Type_contiguous ihh; Type_vector iiihh; Type_hvector iiihh; Type_indexed iIIhh
Type_hindexed iIIhh; Type_struct iIIHh; Address i; Type_extent hi; Type_size hi; Type_lb hi
Type_ub hi; Type_commit h; Type_free h; Get_elements Shi; Pack ihiiih; Unpack iiiihh
Pack_size ihhi; Barrier h; Bcast ihih; Gather iihrhkl; Gatherv iiihrhKKh; Scatter iihrhkl
Scatterv iihihrhKK; Allgather ihihh; Allgatherv iihIIhh; Alltoall ihihh; Alltoallv iIIhIIhh
Reduce ihbih; Op_create ib; Op_free b; Allreduce ihbh; Reduce_scatter iIhbh; Scan ihbh x
Group_size hi; Group_rank hi; Group_translate_ranks hiIhI; Group_compare hhb; Comm_group hh
Group_union hhh; Group_intersection hhh; Group_difference hhh; Group_incl hiIh
Group_excl hiIh; Group_range_incl hi2h; Group_range_excl hi2h; Group_free h; Comm_size hi
Comm_rank hi; Comm_compare hhb; Comm_dup hh; Comm_create hhh; Comm_split hiih; Comm_free h
Comm_test_inter hi; Comm_remote_size hi; Comm_remote_group hh; Intercomm_create hihiih
Intercomm_merge hih; Keyval_create h; Keyval_free h; Attr_put hi; Attr_get hii; Attr_delete hi
Topo_test hb; Cart_create hiIIih; Dims_create iiII; Graph_create ihiIIih; Graphdims_get hii
Graph_get iihiiII; Cartdim_get hi; Cart_get ihiIII; Cart_rank ihIi; Cart_coords ihiiI
Graph_neighbors_count hii; Graph_neighbors ihiiI; Cart_shift hiiii; Cart_sub ihIh
Cart_map hiIIi; Graph_map ihiIIi; Get_processor_name Ti; Get_version ii; Errhandler_create h
Errhandler_set hh; Errhandler_get hh; Errhandler_free h; Error_string iTi; Error_class ii
Wtime -; Wtick -; Init A; Finalize -; Initialized i; Abort hi x; Pcontrol ?; Close_port T x
Comm_accept Thihh x; Comm_connect Thihh x; Comm_disconnect h x; Comm_get_parent h; Comm_join ih x
Comm_spawn ? x; Comm_spawn_multiple ? x; Lookup_name ThT; Open_port hT; Publish_name ThT
Unpublish_name ThT; Accumulate ihiiihbh x; Get ihiiihh x; Put ihiiihh x; Win_complete h x
Win_create iihhh x; Win_fence bh x; Win_free h x; Win_get_group hh; Win_lock bibh x
Win_post hbh x; Win_start hbh x; Win_test hi x; Win_unlock ih x; Win_wait h x
Alltoallw iIIHIIHh x; Exscan ihbh x; Add_error_class i; Add_error_code ii; Add_error_string iT
Comm_call_errhandler hi; Comm_create_keyval h; Comm_delete_attr hh; Comm_free_keyval h
Comm_get_attr hhi; Comm_get_name hTi; Comm_set_attr hh; Comm_set_name hT
File_call_errhandler hi; Grequest_complete i x; Grequest_start i x; Init_thread Abb
Is_thread_main i; Query_thread b`)

// function is a traced function.
type function struct {
	name, layout string
	refused      bool
}

// Numbers that are no functions of MPI: their count, and the marks in the body.
const (
	allFunctions  = 290
	functionEnter = 291
	functionExit  = 292
	endOfStream   = 293
)

func parseFunctions(text string) (functions []function) {
	for one := range strings.SplitSeq(strings.ReplaceAll(text, "\n", ";"), ";") {
		if words := strings.Fields(one); len(words) > 0 {
			functions = append(functions, function{words[0], strings.Trim(words[1], "-"), len(words) > 2})
		}
	}
	return functions
}
