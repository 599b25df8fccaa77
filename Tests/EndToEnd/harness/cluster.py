"""Several gateways on one database and one bus."""

import contextlib
import itertools
from collections.abc import Callable

from .api import Api
from .fleet import wait_until
from .gateway import Gateway, check_log
from .metrics import scrape
from .nats import Nats
from .postgres import Postgres

# Tests of what holds for one gateway only, by the reason. The contract of a cluster differs.
ONE_NODE = {
    "events of two nodes have no order": [
        "test_S3_all_subscribers_receive_one_order", "test_S3_order_holds_across_the_publishers_connections",
        "test_one_order_per_channel_with_publishers_on_several_channels", "test_B2_exclusion_among_events_sent_together",
        "test_new_subscriber_receives_all_later_events_only", "test_E1_client_and_published_events_have_one_order",
        "test_W2_concurrent_changes_alternate", "test_R10_concurrent_users_are_added_once_and_removed_once"],
    "what other nodes tell comes a moment later": [
        "test_positions_are_kept_while_a_job_is_followed",
        "test_E1_delivered_to_all_other_subscribers", "test_E3_other_fields_are_dropped",
        "test_E4_non_string_data_keeps_its_text", "test_E4_string_data_is_unchanged", "test_E6_requires_a_subscription",
        "test_E7_invalid_event_names_are_rejected", "test_E8_data_of_at_most_10240_bytes",
        "test_E8_event_name_of_at_most_200_characters", "test_E9_ten_per_second_then_4301",
        "test_E9_other_messages_are_not_limited", "test_E9_limit_is_configurable_per_application",
        "test_R6_numeric_user_id_is_a_string", "test_R4_R10_sequential_steps_match_the_model",
        "test_R4_member_of_several_channels_leaves_each_separately", "test_N1_above_100_at_most_every_5_seconds",
        "test_subscribe_concurrent_with_reassignment_gives_no_access", "test_W3_only_the_first_100_ids_count",
        "test_the_status_of_each_step", "test_B12_info_reflects_joins_and_leaves",
        "test_K1_only_the_prefix_makes_a_cache_channel"],
    "an answer may overtake that to an earlier message": [
        "test_signed_in_driver_gets_the_channel_with_the_plain_name", "test_server_to_user_channels_send_no_webhooks"],
    "a confirmation on one node may be stored after the subscription on another": [
        "test_missed_notifications_are_replayed_in_order_before_live_ones"],
    "several nodes send webhooks": [
        "test_V2_batches_contain_events_of_one_second", "test_endpoint_without_filter_receives_all_events_in_order"],
    "metrics, statistics and limits are of one node": [
        "test_stats_count_connections_channels_subscriptions_and_users", "test_metrics_count_events_and_rejections",
        "test_repeated_report_gets_the_first_response_and_does_nothing", "test_oldest_events_are_evicted_at_the_byte_limit",
        "test_commands_of_a_driver_are_limited", "test_queries_of_a_driver_are_limited"],
    "each node fetches an issuer's keys": [
        "test_unknown_kid_refetches_at_a_limited_rate", "test_requests_are_served_while_keys_are_fetched",
        "test_new_key_is_accepted_at_once"],
    "a client holds up the end of its own node only": ["test_stopping_gateway_refuses_commands_and_answers_queries"],
}

KEYS = [{"id": "e2e", "key": "ZTJlLWtleS1lMmUta2V5LWUyZS1rZXktZTJlLWtleS0="}]


class Cluster:
    """Starts nodes of a cluster, and knows those that run."""

    def __init__(self, start_gateway: Callable, postgres: Postgres, nats: Nats, **settings):
        self.start_gateway, self.postgres, self.nats = start_gateway, postgres, nats
        self.settings = settings
        self.numbers = itertools.count(1)
        self.nodes: list[Gateway] = []

    def start(self, nats: str | None = None, cluster: dict | None = None, **more) -> Gateway:
        """Starts a node, and waits until the others know it. `nats` is another URL of the bus."""
        name = f"n{next(self.numbers)}"
        settings = self.settings | more
        sections = settings.pop("sections", {})
        gateway = self.start_gateway(
            name, **settings,
            sections=sections | {
                "store": {"url": self.postgres.url, "encryption_keys": KEYS} | sections.get("store", {}),
                "cluster": {"nats": [nats or self.nats.url], "node": name} | (cluster or {})})
        self.nodes.append(gateway)
        self.wait_for(len(self.live))
        return gateway

    @property
    def live(self) -> list[Gateway]:
        return [node for node in self.nodes if node.process.poll() is None]

    def wait_for(self, count: int, *nodes: Gateway) -> None:
        """Waits until each of the nodes knows this number of nodes."""
        for node in nodes or self.live:
            wait_until(lambda: count_of_nodes(node) == count, f"{count} nodes of the cluster")


def count_of_nodes(gateway: Gateway) -> int:
    api = Api(gateway)
    try:
        return int(scrape(api).total("fleetwire_cluster_nodes"))
    finally:
        api.close()


def events(gateway: Gateway) -> list[str]:
    """Returns the names of the events in its log."""
    return [entry["event"] for entry in check_log(gateway.log())]


@contextlib.contextmanager
def frozen(node: Gateway):
    """Stops a node's process, and lets it go on."""
    node.freeze()
    try:
        yield
    finally:
        node.thaw()


def is_degraded(node: Gateway) -> bool:
    api = Api(node)
    try:
        response = api.get("/readyz")
        assert response.status == 200, response
        return response.body.startswith(b"{") and response.json().get("degraded") == ["nats"]
    finally:
        api.close()


def wait_for_bus(*nodes: Gateway, is_away: bool, seconds: float = 15) -> None:
    for node in nodes:
        wait_until(lambda: is_degraded(node) == is_away, f"NATS is {'away' if is_away else 'back'}", seconds)  # noqa: B023
