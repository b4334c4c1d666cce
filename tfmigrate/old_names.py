"""The names that old Keras had, module by module, and the last version that had them.

Source: the public names of Keras 2.1.6, 2.2.4, 2.3.1 and of tf.keras 2.3, and for what modules of standalone Keras
imported for themselves such imports run on these three.
"""

from __future__ import annotations

from collections.abc import Mapping

_LISTED = {
    "keras": """
        Input Model Sequential activations applications backend callbacks constraints datasets initializers
        layers losses metrics models optimizers preprocessing regularizers utils
    """,
    "keras.backend": """
        abs all any arange argmax argmin backend batch_dot batch_flatten batch_get_value batch_normalization
        batch_set_value bias_add binary_crossentropy cast cast_to_floatx categorical_crossentropy clear_session
        clip concatenate constant conv1d conv2d conv2d_transpose conv3d conv3d_transpose cos count_params
        ctc_batch_cost ctc_decode ctc_label_dense_to_sparse cumprod cumsum depthwise_conv2d dot dropout dtype
        elu epsilon equal eval exp expand_dims eye flatten floatx foldl foldr function gather get_session
        get_uid get_value get_variable_shape gradients greater greater_equal hard_sigmoid identity
        image_data_format image_dim_ordering in_test_phase in_top_k in_train_phase int_shape is_keras_tensor
        is_placeholder is_sparse is_tensor l2_normalize learning_phase less less_equal local_conv1d local_conv2d
        log logsumexp manual_variable_initialization map_fn max maximum mean min minimum moving_average_update
        name_scope ndim normalize_batch_in_training not_equal one_hot ones ones_like permute_dimensions
        placeholder pool2d pool3d pow print_tensor prod random_binomial random_normal random_normal_variable
        random_uniform random_uniform_variable relu repeat repeat_elements reset_uids reshape resize_images
        resize_volumes reverse rnn round separable_conv1d separable_conv2d set_epsilon set_floatx
        set_image_data_format set_image_dim_ordering set_learning_phase set_session set_value shape sigmoid sign
        sin slice softmax softplus softsign sparse_categorical_crossentropy spatial_2d_padding
        spatial_3d_padding sqrt square squeeze stack std stop_gradient sum switch tanh temporal_padding tile
        to_dense transpose truncated_normal update update_add update_sub var variable zeros zeros_like
    """,
    "keras.layers": """
        AbstractRNNCell Activation ActivityRegularization Add AdditiveAttention AlphaDropout AtrousConv1D
        AtrousConv2D AtrousConvolution1D AtrousConvolution2D Attention Average AveragePooling1D AveragePooling2D
        AveragePooling3D AvgPool1D AvgPool2D AvgPool3D BatchNormalization Bidirectional Concatenate Conv1D
        Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM2D ConvLSTM2DCell ConvRNN2D
        ConvRecurrent2D Convolution1D Convolution1DTranspose Convolution2D Convolution2DTranspose Convolution3D
        Convolution3DTranspose Cropping1D Cropping2D Cropping3D CuDNNGRU CuDNNLSTM Deconv2D Deconv3D
        Deconvolution2D Deconvolution3D Dense DenseFeatures DepthwiseConv2D Dot Dropout ELU Embedding Flatten
        GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
        GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D
        GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D Highway Input InputLayer
        InputSpec LSTM LSTMCell Lambda Layer LayerNormalization LeakyReLU LocallyConnected1D LocallyConnected2D
        Masking MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D Maximum MaxoutDense Merge
        Minimum Multiply PReLU Permute RNN ReLU Recurrent RepeatVector Reshape SeparableConv1D SeparableConv2D
        SeparableConvolution1D SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax SpatialDropout1D
        SpatialDropout2D SpatialDropout3D StackedRNNCells Subtract ThresholdedReLU TimeDistributed UpSampling1D
        UpSampling2D UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D add average concatenate dot
        maximum merge minimum multiply subtract
    """,
    "keras.models": """
        Input Model Sequential clone_model load_model model_from_config model_from_json model_from_yaml
        save_model
    """,
    "keras.optimizers": """
        Adadelta Adagrad Adam Adamax Ftrl Nadam Optimizer RMSprop SGD TFOptimizer adadelta adagrad adam adamax
        nadam rmsprop sgd
    """,
    "keras.losses": """
        BinaryCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity Hinge Huber KLD
        KLDivergence LogCosh Loss MAE MAPE MSE MSLE MeanAbsoluteError MeanAbsolutePercentageError
        MeanSquaredError MeanSquaredLogarithmicError Poisson SparseCategoricalCrossentropy SquaredHinge
        binary_crossentropy categorical_crossentropy categorical_hinge cosine cosine_proximity cosine_similarity
        hinge huber_loss kld kullback_leibler_divergence logcosh mae mape mean_absolute_error
        mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mse msle poisson
        sparse_categorical_crossentropy squared_hinge
    """,
    "keras.metrics": """
        AUC Accuracy BinaryAccuracy BinaryCrossentropy CategoricalAccuracy CategoricalCrossentropy
        CategoricalHinge CosineSimilarity FalseNegatives FalsePositives Hinge KLDivergence LogCoshError MAE MAPE
        MSE MSLE Mean MeanAbsoluteError MeanAbsolutePercentageError MeanIoU MeanSquaredError
        MeanSquaredLogarithmicError Metric Poisson Precision Recall RootMeanSquaredError
        SensitivityAtSpecificity SparseCategoricalAccuracy SparseCategoricalCrossentropy
        SparseTopKCategoricalAccuracy SpecificityAtSensitivity SquaredHinge Sum TopKCategoricalAccuracy
        TrueNegatives TruePositives binary_accuracy binary_crossentropy categorical_accuracy
        categorical_crossentropy categorical_hinge cosine cosine_proximity cosine_similarity hinge
        kullback_leibler_divergence logcosh mae mape mean_absolute_error mean_absolute_percentage_error
        mean_squared_error mean_squared_logarithmic_error mse msle poisson sparse_categorical_accuracy
        sparse_categorical_crossentropy sparse_top_k_categorical_accuracy squared_hinge
        top_k_categorical_accuracy
    """,
    "keras.constraints": """
        Constraint MaxNorm MinMaxNorm NonNeg UnitNorm max_norm maxnorm min_max_norm non_neg nonneg unit_norm
        unitnorm
    """,
    "keras.activations": """
        elu exponential hard_sigmoid linear relu selu sigmoid softmax softplus softsign tanh
    """,
    "keras.datasets": """
        boston_housing cifar10 cifar100 fashion_mnist imdb mnist reuters
    """,
    "keras.callbacks": """
        BaseLogger CSVLogger Callback CallbackList EarlyStopping History LambdaCallback LearningRateScheduler
        ModelCheckpoint ProgbarLogger ReduceLROnPlateau RemoteMonitor TensorBoard TerminateOnNaN
    """,
    "keras.regularizers": """
        L1 L1L2 L2 Regularizer l1 l1_l2 l2
    """,
    "keras.initializers": """
        Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity Initializer LecunNormal LecunUniform
        Ones Orthogonal RandomNormal RandomUniform TruncatedNormal VarianceScaling Zeros constant deserialize
        get glorot_normal glorot_uniform he_normal he_uniform identity lecun_normal lecun_uniform normal one
        ones orthogonal random_normal random_uniform serialize truncated_normal uniform zero zeros
    """,
    "keras.utils": """
        CustomObjectScope GeneratorEnqueuer H5Dict HDF5Matrix OrderedEnqueuer Progbar Sequence SequenceEnqueuer
        custom_object_scope get_custom_objects get_file model_to_dot multi_gpu_model normalize plot_model
        register_keras_serializable to_categorical
    """,
    "keras.preprocessing.image": """
        DataFrameIterator DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator
        apply_affine_transform apply_brightness_shift apply_channel_shift array_to_img img_to_array load_img
        random_brightness random_channel_shift random_rotation random_shear random_shift random_zoom save_img
        smart_resize
    """,
    "keras.preprocessing.sequence": """
        TimeseriesGenerator make_sampling_table pad_sequences skipgrams
    """,
    "keras.preprocessing.text": """
        Tokenizer hashing_trick one_hot text_to_word_sequence tokenizer_from_json
    """,
    "keras.applications": """
        DenseNet121 DenseNet169 DenseNet201 EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3
        EfficientNetB4 EfficientNetB5 EfficientNetB6 EfficientNetB7 InceptionResNetV2 InceptionV3 MobileNet
        MobileNetV2 NASNetLarge NASNetMobile ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2
        VGG16 VGG19 Xception densenet efficientnet inception_resnet_v2 inception_v3 mobilenet mobilenet_v2
        nasnet resnet resnet50 resnet_v2 vgg16 vgg19 xception
        decode_predictions preprocess_input
    """,
}
NAMES_OF: Mapping[str, frozenset[str]] = {home: frozenset(listed.split()) for home, listed in _LISTED.items()}
"""The public names of each module."""
IMPORTED_BY_MODULES: Mapping[str, str] = {
    "K": "keras.backend",
    "np": "numpy",
    "tf": "tensorflow",
    **{module: f"keras.{module}" for module in ("activations", "constraints", "initializers", "losses", "optimizers",
                                                "regularizers")},
    **{layer: f"keras.layers.{layer}" for layer in ("Input", "InputLayer", "InputSpec", "Layer")},
    "Model": "keras.models.Model",
    **{name: f"keras.utils.{name}" for name in ("Progbar", "Sequence", "conv_utils", "get_file")},
    **{name: f"collections.{name}" for name in ("OrderedDict", "deque", "namedtuple")},
    "Iterable": "collections.abc.Iterable",
    "partial": "functools.partial",
    **{
        module: module
        for module in (
            "copy", "csv", "h5py", "inspect", "io", "json", "multiprocessing", "os", "random", "re", "requests", "six",
            "string", "sys", "threading", "time", "types", "warnings", "yaml",
        )
    },
}  # fmt: skip
"""What modules of standalone Keras imported for themselves, which a star import brought too: `from keras.callbacks
import *` brings `np` and `os` with Keras 2.1.6 and 2.2.4, and `K` with 2.3.1 as well."""
LAST_WITH: Mapping[str, str] = {
    **dict.fromkeys(("Merge", "merge"), "2.1.6"),
    **dict.fromkeys(
        (
            "AtrousConv2D", "Deconv2D", "_BACKEND", "_SESSION", "_backend", "activations", "constraints",
            "get_variable_shape", "image_dim_ordering", "initializers", "mobilenetv2", "namedtuple", "np", "os",
            "regularizers", "set_image_dim_ordering", "standardize_weights", "tf", "training_utils", "warnings",
        ),
        "2.2.4",
    ),
}  # fmt: skip
"""The last minor version of standalone Keras that has a name, which a star import may have brought (measured: the names
of all modules of 2.1.6, 2.2.4 and 2.3.1)."""
