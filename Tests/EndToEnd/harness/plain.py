"""Gateways without a fleet (`make e2e-plain`): the tests of the protocol hold for them, too, except these."""

# Tests of what a fleet adds, by the reason. A name may contain the parameters.
NEEDS_FLEET = {
    "there is no operators' channel": ["test_B8_only_the_gateway_publishes_its_figures"],
    "there are no users of the fleet": [
        "test_U4_alias_is_for_users_of_the_fleet_only", "test_U4_U6_sdk_reaches_a_user_of_the_fleet",
        "test_losing_a_job_vacates_its_channels"],
    "no channel has a mirror": ["test_plain_and_private_channel_are_two_channels"],
    "there are no paths of the fleet": [
        "test_the_refusal_of_null_says_why", "test_preflights_allow_what_the_page_asks_for[/pusher/auth]",
        "test_preflights_allow_what_the_page_asks_for[/pusher/user-auth]",
        "test_preflights_allow_what_the_page_asks_for[/api/driver/jobs]", "test_pages_can_read_every_error[401]",
        "test_pages_can_read_a_429", "test_pages_can_read_a_408",
        "test_no_response_may_be_stored_or_guessed_to_be_a_page[no-token]",
        "test_no_response_may_be_stored_or_guessed_to_be_a_page[no-auth]",
        "test_late_response_never_reaches_the_next_connection", "test_websocket_behind_a_waiting_request_is_read",
        "test_authorization_requests_of_a_subject_are_limited", "test_authorization_is_limited_before_the_body_is_read",
        "test_every_path_has_the_prefix_and_needs_none", "test_the_console_finds_its_files_below_the_prefix"],
}
