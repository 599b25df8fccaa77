// A driver's app on Android, with the SDK pusher-websocket-java 2.4.4 (com.pusher:pusher-java-client). Read against that
// version's source, and not run in a test.
//
// It may lose the network, the gateway and its token at any moment. It connects again for ever, gets a new token when the
// old one is refused, repeats what had no answer, and shows once what comes twice.

import android.content.Context
import android.net.ConnectivityManager
import android.net.Network
import android.util.Log
import com.pusher.client.AuthorizationFailureException
import com.pusher.client.Pusher
import com.pusher.client.PusherOptions
import com.pusher.client.channel.PrivateChannelEventListener
import com.pusher.client.channel.PusherEvent
import com.pusher.client.connection.ConnectionEventListener
import com.pusher.client.connection.ConnectionState
import com.pusher.client.connection.ConnectionStateChange
import org.json.JSONObject
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import java.net.URLEncoder
import java.time.Instant
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import kotlin.random.Random

/** An answer that would be the same again. */
class Refused(message: String) : Exception(message)

/**
 * `gateway` is such as https://fleet.example.com:443. `newToken` asks the app's backend for a token; it may wait, and it
 * may throw an IOException. `show` shows a job; it is called outside of the main thread.
 */
class Driver(
    private val gateway: URL, key: String, private val driver: String, private val device: String,
    private val newToken: () -> String, private val show: (JSONObject) -> Unit,
) : PrivateChannelEventListener, ConnectionEventListener {
    private val channel = "private-driver-$driver"
    private val work = Executors.newSingleThreadScheduledExecutor()
    private var token: String? = null
    // What the gateway sends again is among the latest 1,000.
    private val seen = object : LinkedHashMap<String, Unit>() {
        override fun removeEldestEntry(eldest: MutableMap.MutableEntry<String, Unit>) = size > 2000
    }
    private val unanswered = ArrayDeque<Pair<String, JSONObject>>()

    private val pusher = Pusher(key, PusherOptions()
        .setHost(gateway.host).setWsPort(gateway.port).setWssPort(gateway.port).setUseTLS(gateway.protocol == "https")
        // By default, the SDK gives up after six attempts: 85 seconds without a network.
        .setMaxReconnectionAttempts(Int.MAX_VALUE).setMaxReconnectGapInSeconds(15)
        // By default, it notices a dead network after two and a half minutes.
        .setActivityTimeout(20_000).setPongTimeout(10_000)
        .setChannelAuthorizer { name, socket -> authorize(name, socket) })

    fun start(context: Context) {
        pusher.connect(this, ConnectionState.ALL)
        subscribe()
        // Connects at once if the SDK has given up. While it tries by itself, `connect` does nothing.
        context.getSystemService(ConnectivityManager::class.java)
            .registerDefaultNetworkCallback(object : ConnectivityManager.NetworkCallback() {
                override fun onAvailable(network: Network) = pusher.connect()
            })
    }

    private fun subscribe() {
        // Null before the first time, and after an authorization that failed.
        if (pusher.getPrivateChannel(channel) == null) pusher.subscribePrivate(channel, this, "job-assigned")
    }

    /** The SDK asks at each connection. Any other exception than this one would end the app. */
    private fun authorize(name: String, socket: String): String = try {
        // The gateway remembers what each device has got: a device must keep its name.
        call("/pusher/auth", JSONObject(mapOf("socket_id" to socket, "channel_name" to name, "device_id" to device))).toString()
    } catch (problem: Exception) {
        throw AuthorizationFailureException(problem)
    }

    /** The SDK forgets a channel that was not authorized. */
    override fun onAuthenticationFailure(message: String, e: Exception?) {
        Log.w("driver", message, e)
        later { subscribe() }
    }

    override fun onSubscriptionSucceeded(channelName: String) = work.execute { answer() }

    override fun onConnectionStateChange(change: ConnectionStateChange) {
        Log.i("driver", "${change.previousState} -> ${change.currentState}")
    }

    override fun onError(message: String?, code: String?, e: Exception?) {
        Log.w("driver", "$code $message", e)
    }

    override fun onEvent(event: PusherEvent) = work.execute {
        val job = JSONObject(event.data)
        if (seen.put(job.getString("notificationId"), Unit) == null) {
            show(job)
            unanswered.addLast("/api/driver/notifications/log" to JSONObject(mapOf(
                "notificationId" to job.getString("notificationId"), "type" to "new_job",
                "entityId" to job.getString("bookingId"), "event" to "received", "timestamp" to Instant.now().toString())))
            // Your app asks the driver.
            unanswered.addLast("/api/driver/jobs/${URLEncoder.encode(job.getString("bookingId"), "UTF-8")}/accept" to JSONObject())
            // After a long outage, the oldest jobs are over.
            while (unanswered.size > 2000) unanswered.removeFirst()
            answer()
        }
    }

    /** Tells the gateway, on the thread of `work`, until it has answered everything. */
    private fun answer() {
        while (true) {
            val (path, body) = unanswered.firstOrNull() ?: return
            try {
                call(path, body)
            } catch (refusal: Refused) {
                Log.w("driver", refusal)
            } catch (problem: IOException) {
                return later { answer() }
            }
            unanswered.removeFirst()
        }
    }

    /** At random, so that after an outage not all apps come at the same moment. */
    private fun later(action: () -> Unit) {
        work.schedule(action, Random.nextLong(5_000, 10_000), TimeUnit.MILLISECONDS)
    }

    /** Makes a request; if the token is refused, once more with a new one. */
    @Synchronized
    private fun call(path: String, body: JSONObject, mayBeExpired: Boolean = true): JSONObject {
        val bearer = token ?: newToken().also { token = it }
        val connection = URL("$gateway$path").openConnection() as HttpURLConnection
        try {
            connection.connectTimeout = 10_000
            connection.readTimeout = 10_000
            connection.doOutput = true
            connection.setRequestProperty("Authorization", "Bearer $bearer")
            connection.setRequestProperty("Content-Type", "application/json")
            connection.outputStream.use { it.write(body.toString().toByteArray()) }
            val status = connection.responseCode
            if (status == 200) return JSONObject(connection.inputStream.bufferedReader().readText())
            if (status == 401) token = null
            val problem = "$path: $status ${connection.errorStream?.bufferedReader()?.readText()}"
            if (status in listOf(400, 403, 404, 409)) throw Refused(problem)
            if (status != 401 || !mayBeExpired) throw IOException(problem)
        } finally {
            connection.disconnect()
        }
        return call(path, body, mayBeExpired = false)
    }
}
