# Tests that take a core more than about 0.3 s: `slow` to CTest. The others, `fast`, are what to run
# after each edit.
set(SPARKBENCH_SLOW_TESTS
    acsr_backward_test acsr_forward_test add_kernel_test advise_command_test argument_sources_test
    bootstrap_test case_outputs_test case_verdict_test code_walk_test containers_test
    cuda_choice_test cudnn_attention_graph_test exact_backward_test exact_test
    expression_c_text_test faults_damage_test faults_study_test faults_test figures_bars_test figures_lines_test
    fit_coefficients_test fp32_scores_test head_groups_test help_test hopper_backward_test
    hopper_carried_backward_test hopper_dq_sums_test hopper_forward_test hopper_packed_test
    hopper_row_runs_test hopper_sparse_test host_layers_test host_numpy_test host_tritonbench_test
    host_peers_test host_torch_test include_order_test input_file_test inspect_test
    install_test installed_cudnn_test jit_compiled_code_test jit_tile_kernels_test journal_test
    json_test layer_attention_test layer_errors_test layer_gradients_test listed_blocks_test
    mask_check_test mask_command_test named_values_test page_test pass_dropout_test
    pattern_enumerated_plan_test pattern_mask_passes_test pattern_masks_test
    pattern_random_test
    planted_faults_list_test planted_regressions_test plot_test plugin_readme_test
    predict_code_test predicted_tables_test program_axes_test program_encoder_lengths_test
    program_encoder_test program_files_test program_lengths_test program_numpy_test
    program_output_test program_patterns_test program_plugin_test program_prediction_test
    program_tables_test program_tensors_test program_test program_usage_test published_runs_test
    python_host_test release_test repeatability_test resume_test rows_mma_test sample_estimate_test
    shifted_scores_test spark_attention_mask_test spark_attention_test
    sparse_lists_test run_files_test terminal_test tile_forward_test
    unfused_backward_test unfused_test validation_test volta_backward_relay_test volta_backward_test
    volta_dropout_offset_test volta_forward_test volta_group_test volta_instance_launch_test
    volta_mask_test volta_packed_test volta_passes_test volta_short_blocks_test
    volta_sparse_parts_test volta_sparse_test volta_strided_test
    volta_traffic_test warp_walk_test wgmma_test widths_test worker_faults_test)
