package opensm

import "strings"

// ignored tells the keys of OpenSM's configuration that leave unicast tables as
// they are.
func ignored(key string) bool {
	if _, listed := ignoredKeys[key]; listed {
		return true
	}
	for _, prefix := range []string{"qos_", "cc_", "perfmgr_", "event_"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

var ignoredKeys = keys(`
	m_key m_key_lease_period m_key_protection_level m_key_lookup m_key_per_port sm_key sa_key sa_etm_max_num_mads
	subnet_prefix max_wire_smps max_wire_smps2 max_smps_timeout console console_port transaction_timeout
	transaction_retries long_transaction_timeout max_msg_fifo_timeout sm_priority master_sm_priority ignore_other_sm single_thread
	disable_multicast subnet_timeout packet_life_time vl_stall_count leaf_vl_stall_count
	head_of_queue_lifetime leaf_head_of_queue_lifetime local_phy_errors_threshold overrun_errors_threshold
	use_mfttop sminfo_polling_timeout polling_retry_number force_heavy_sweep sweep_interval sweep_on_trap
	use_ucast_cache log_file log_max_size log_flags force_log_flush per_module_logging_file
	partition_config_file no_partition_enforcement part_enforce allow_both_pkeys keep_pkey_indexes sm_assigned_guid
	suppress_sl2vl_mad_status_errors suppress_mc_pkey_traps accum_log_file dump_files_dir
	max_reverse_hops sa_db_file sa_db_dump exit_on_fatal const_multicast daemon sm_inactive
	babbling_port_policy drop_event_subscriptions drop_subscr_on_report_fail ipoib_mcgroup_creation_validation
	mcgroup_join_validation use_original_extended_sa_rates_only use_optimized_slvl use_optimized_port_mask_slvl
	fsync_high_avail_files enable_quirks no_clients_rereg prefix_routes_file consolidate_ipv6_snm_req sm_sl
	log_prefix node_name_map_name force_link_speed force_link_speed_ext fdr10 force_link_width
	congestion_control perfmgr max_seq_redisc default_mcg_mtu default_mcg_rate guid_lookup vlarb ca_port_moved
	ignore_guids disable_mcast babbling tsig_file gid_prefix pidfile
`)

// keys makes a set of words.
func keys(list string) map[string]struct{} {
	set := map[string]struct{}{}
	for _, word := range strings.Fields(list) {
		set[word] = struct{}{}
	}
	return set
}
